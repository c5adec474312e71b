/// What every question to the account's server says.
public struct ServerQuestion: AccountParameters {
  /// Absent: the default account.
  public var account: String?
  /// Seconds for the server to answer, and for a session that is on its way to come online; 0 for an hour.
  @Default<Seconds<10>> public var timeout: Double
  /// Asks although the last answer could be used.
  @Default<False> public var fresh: Bool
  public init(account: String?, timeout: Double = 10, fresh: Bool = false) {
    self.account = account
    self.timeout = timeout
    self.fresh = fresh
  }
  public func validate() throws(RPCError) { try check(seconds: timeout) }
}

/// What time it is at the server (XEP-0202).
///
/// The last answer is carried forward by a clock that is never set, and asked for again when it is a minute old. A server
/// that does not answer, or not rightly, leaves the last answer: then ``ServerTime/cause`` says why.
public enum ServerTimeMethod: AgentMethod {
  public static let name = "server.time"
  public static let isQuestion = true
  public static let isIdempotent = true
  public typealias Parameters = ServerQuestion
  public typealias Result = ServerTime
}

/// The time of a server.
public struct ServerTime: Codable, Sendable, Equatable {
  public var account: String
  public var server: String
  /// RFC 3339, UTC, with milliseconds.
  public var time: String
  /// Time zone of the server: `Z`, `+02:00`.
  public var zone: String
  /// Seconds that the server's clock is ahead of this machine's.
  public var ahead: Double
  /// Seconds since the server was asked; 0 where it was asked for this answer.
  public var age: Double
  /// The server was not asked for this answer.
  public var cached: Bool
  /// Why the server could not be asked for this answer though it should have been: then it is the last one that it has
  /// given. Absent: nothing went wrong.
  public var cause: Failure?
  public init(
    account: String, server: String, time: String, zone: String, ahead: Double, age: Double, cached: Bool,
    cause: Failure? = nil
  ) {
    self.account = account
    self.server = server
    self.time = time
    self.zone = zone
    self.ahead = ahead
    self.age = age
    self.cached = cached
    self.cause = cause
  }
}

/// How long a question takes there and back (XEP-0199).
public enum ServerPingMethod: AgentMethod {
  public static let name = "server.ping"
  public static let isQuestion = true
  public static let isIdempotent = true
  public typealias Parameters = ServerQuestion
  public struct Result: Codable, Sendable, Equatable {
    public var account: String
    public var server: String
    public var milliseconds: Double
    public init(account: String, server: String, milliseconds: Double) {
      self.account = account
      self.server = server
      self.milliseconds = milliseconds
    }
  }
}

/// What software a server is, as it says; null where it does not.
public struct ServerSoftware: Codable, Sendable, Equatable {
  @Nullable public var name: String?
  @Nullable public var version: String?
  @Nullable public var os: String?
  public init(name: String?, version: String?, os: String?) {
    self.name = name
    self.version = version
    self.os = os
  }
}

/// What software the server is (XEP-0092).
public enum ServerVersionMethod: AgentMethod {
  public static let name = "server.version"
  public static let isQuestion = true
  public static let isIdempotent = true
  public typealias Parameters = ServerQuestion
  public struct Result: Codable, Sendable, Equatable {
    public var account: String
    public var server: String
    public var software: ServerSoftware
    public init(account: String, server: String, software: ServerSoftware) {
      self.account = account
      self.server = server
      self.software = software
    }
  }
}

/// What the server is, what it can do for this account, and what belongs to it (XEP-0030, XEP-0157).
public enum ServerInfoMethod: AgentMethod {
  public static let name = "server.info"
  public static let isQuestion = true
  public static let isIdempotent = true
  public typealias Parameters = ServerQuestion
  public struct Result: Codable, Sendable, Equatable {
    public var account: String
    public var server: String
    public var identities: [Identity]
    /// Null where the server does not tell.
    @Nullable public var software: ServerSoftware?
    /// Whom to write to, by what for: `abuse`, `admin`, `security`.
    public var contact: [String: [String]]
    /// Other addresses of the server: rooms, uploads.
    public var services: [Service]
    /// Sorted.
    public var features: [Feature]
    public init(account: String, server: String) {
      self.account = account
      self.server = server
      identities = []
      contact = [:]
      services = []
      features = []
    }
  }
  public struct Identity: Codable, Sendable, Equatable {
    public var category: String
    public var type: String
    @Nullable public var name: String?
    public init(category: String, type: String, name: String?) {
      self.category = category
      self.type = type
      self.name = name
    }
  }
  public struct Service: Codable, Sendable, Equatable {
    public var jid: String
    @Nullable public var name: String?
    public init(jid: String, name: String?) {
      self.jid = jid
      self.name = name
    }
  }
  public struct Feature: Codable, Sendable, Equatable {
    public var feature: String
    /// The domain has it.
    public var server: Bool
    /// The account has it.
    public var account: Bool
    public init(feature: String, server: Bool, account: Bool) {
      self.feature = feature
      self.server = server
      self.account = account
    }
  }
}
