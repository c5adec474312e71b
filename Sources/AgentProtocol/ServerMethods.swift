/// The parameters of every query to the account's server.
public struct ServerQuestion: AccountParameters {
  /// Absent: the default account.
  public var account: String?
  /// The time limit in seconds, which includes waiting for a session that is being established; 0 for an hour.
  @Default<Seconds<10>> public var timeout: Double
  /// Whether to ask the server even if the last answer is recent enough.
  @Default<False> public var fresh: Bool
  public init(account: String?, timeout: Double = 10, fresh: Bool = false) {
    self.account = account
    self.timeout = timeout
    self.fresh = fresh
  }
  public func validate() throws(RPCError) { try check(seconds: timeout) }
}

/// The time at the server (XEP-0202).
///
/// The last answer is extrapolated with a monotonic clock, and renewed when it is a minute old. If the server does not
/// answer, or answers incorrectly, the last answer still applies, and ``ServerTime/cause`` has the reason.
public enum ServerTimeMethod: AgentMethod {
  public static let name = "server.time"
  public static let mayBeAbandoned = true
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
  /// The server's time zone: `Z`, `+02:00`.
  public var zone: String
  /// The seconds by which the server's clock is ahead of this machine's.
  public var ahead: Double
  /// The seconds since the server was asked; 0 if it was asked for this answer.
  public var age: Double
  /// Whether the server was not asked for this answer.
  public var cached: Bool
  /// Why the server did not answer, so that the result is based on an earlier answer. Absent: no error.
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

/// The round-trip time to the server (XEP-0199).
public enum ServerPingMethod: AgentMethod {
  public static let name = "server.ping"
  public static let mayBeAbandoned = true
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

/// The software of a server; null for facts that it does not reveal.
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

/// The software of the server (XEP-0092).
public enum ServerVersionMethod: AgentMethod {
  public static let name = "server.version"
  public static let mayBeAbandoned = true
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

/// The identities and features of the server for this account, and its services and contact addresses (XEP-0030,
/// XEP-0157).
public enum ServerInfoMethod: AgentMethod {
  public static let name = "server.info"
  public static let mayBeAbandoned = true
  public static let isIdempotent = true
  public typealias Parameters = ServerQuestion
  public struct Result: Codable, Sendable, Equatable {
    public var account: String
    public var server: String
    public var identities: [Identity]
    /// Null if the server does not reveal it.
    @Nullable public var software: ServerSoftware?
    /// Contact addresses by purpose: `abuse`, `admin`, `security`.
    public var contact: [String: [String]]
    /// Other services of the server, such as rooms and uploads.
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
    /// Whether the domain has the feature.
    public var server: Bool
    /// Whether the account has the feature.
    public var account: Bool
    public init(feature: String, server: Bool, account: Bool) {
      self.feature = feature
      self.server = server
      self.account = account
    }
  }
}
