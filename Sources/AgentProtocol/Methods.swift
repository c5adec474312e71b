/// A call of the agent: its JSON-RPC method name, parameters and result.
public protocol AgentMethod: Sendable {
  associatedtype Parameters: Codable & Sendable
  associatedtype Result: Codable & Sendable
  static var name: String { get }
  /// Whether carrying it out twice is as good as once: such a request need not wait to know the agent's version.
  static var isIdempotent: Bool { get }
}

extension AgentMethod {
  public static var isIdempotent: Bool { false }
}

/// The object `{}`.
public struct Nothing: Codable, Sendable, Equatable {
  public init() {}
}

/// Connection options that are kept with an account.
public struct ConnectionOptions: Codable, Sendable, Equatable {
  public var host: String?
  public var port: Int?
  /// `starttls` or `direct`; absent: as SRV records say, else STARTTLS.
  public var tls: String?
  /// Absolute path of a PEM file.
  public var caFile: String?
  /// SHA-256 of the server's certificate, 64 hexadecimal digits.
  public var certSHA256: String?
  public var resource: String?
  /// `socks5h://[user@]host[:port]` or `http://[user@]host[:port]`, never with a password; `none`: no proxy any more.
  public var proxy: String?
  /// Prints the password of the proxy's user; run for every connection.
  public var proxyPasswordCommand: String?
  public init() {}
}

/// Ends a session: flush, unavailable, close.
public enum LogoutMethod: AgentMethod {
  public static let name = "logout"
  public struct Parameters: Codable, Sendable {
    /// Absent: the default account.
    public var account: String?
    public var all: Bool
    public var forget: Bool
    public var force: Bool
    /// Seconds to wait for acknowledgements.
    public var flush: Double
    /// The server is told to forget its token for this device.
    public var revoke: Bool
    /// Seconds for which the caller waits, within which everything else is divided; 0: no bound.
    public var timeout: Double
    public init(account: String?) {
      self.account = account
      all = false
      forget = false
      force = false
      flush = 10
      revoke = false
      timeout = 0
    }
  }
  public struct Result: Codable, Sendable, Equatable {
    /// Bare JIDs that were logged out.
    public var accounts: [String]
    /// Messages that could not be sent, and are sent after the next login.
    public var unsent: Int
    /// Why the server has not forgotten a token, which is kept for `token.revoke`. Absent: nothing went wrong.
    public var unrevoked: Failure?
    /// Why it could not be stored that they are logged out: the next agent logs them in. Absent: nothing went wrong.
    public var unstored: Failure?
    /// What stays stored of the secrets, by account; absent where nothing does.
    public var kept: [String: StorePolicy]?
    public init(accounts: [String], unsent: Int = 0, unrevoked: Failure? = nil) {
      self.accounts = accounts
      self.unsent = unsent
      self.unrevoked = unrevoked
    }

    /// The end of other sessions, too.
    public mutating func add(_ other: Self) {
      accounts += other.accounts
      unsent += other.unsent
      unrevoked = unrevoked ?? other.unrevoked
      unstored = unstored ?? other.unstored
      if let others = other.kept { kept = (kept ?? [:]).merging(others) { $1 } }
    }
  }
}

/// State of the sessions, as `status --json` prints it, one object an account.
public enum StatusMethod: AgentMethod {
  public static let name = "status"
  public static let isIdempotent = true
  public struct Parameters: Codable, Sendable {
    public var account: String?
    public var all: Bool
    /// Asks the servers first whether they are there; a session whose server does not answer is not online.
    public var probe: Bool
    /// Seconds for the answer of a server.
    public var timeout: Double
    public init(account: String?, all: Bool = false, probe: Bool = false, timeout: Double = 5) {
      self.account = account
      self.all = all
      self.probe = probe
      self.timeout = timeout
    }
  }
  public typealias Result = [SessionStatus]
}

/// The desired presence, and whether the server has it.
public struct PresenceStatus: Codable, Sendable, Equatable {
  public var show: PresenceShow
  public var status: String?
  public var priority: Int
  public var applied: Bool
  public init(show: PresenceShow, status: String?, priority: Int, applied: Bool) {
    self.show = show
    self.status = status
    self.priority = priority
    self.applied = applied
  }
}

/// The desired presence of an account.
public enum PresenceGetMethod: AgentMethod {
  public static let name = "presence.get"
  public static let isIdempotent = true
  public struct Parameters: Codable, Sendable {
    public var account: String?
    public init(account: String?) { self.account = account }
  }
  public typealias Result = PresenceStatus
}

/// Sets the desired presence, sends it when online, stores it always.
public enum PresenceSetMethod: AgentMethod {
  public static let name = "presence.set"
  public static let isIdempotent = true
  public struct Parameters: Codable, Sendable {
    public var account: String?
    public var show: PresenceShow
    public var status: String?
    /// Absent: the priority stays.
    public var priority: Int?
    /// Directed presence (RFC 6121 §4.6) to this JID; desired presence stays.
    public var to: String?
    /// Seconds after which what was before comes back.
    public var duration: Double?
    /// Held while this connection to the agent lives; of overlapping holds the newest alive wins.
    public var hold: Bool
    /// When the hold began, in seconds since 1970, where it goes on with another agent; absent: now.
    public var since: Double?
    public init(account: String?, show: PresenceShow) {
      self.account = account
      self.show = show
      hold = false
    }
  }
  public typealias Result = PresenceStatus
}

/// Starts the notifications `event` on this connection; answered before the first of them.
public enum WatchMethod: AgentMethod {
  public static let name = "watch"
  public static let isIdempotent = true
  public struct Parameters: Codable, Sendable {
    /// Names of events; absent: all.
    public var events: [String]?
    /// Absent: every account.
    public var account: String?
    /// Replays what is kept since this cursor.
    public var since: Int64?
    public init() {}
  }
  public struct Result: Codable, Sendable, Equatable {
    /// The newest cursor at the time of the call.
    public var cursor: Int64
    public init(cursor: Int64) { self.cursor = cursor }
  }
}

/// Who the agent is. The first call of every client.
public enum AgentStatusMethod: AgentMethod {
  public static let name = "agent.status"
  public static let isIdempotent = true
  public typealias Parameters = Nothing
  public struct Result: Codable, Sendable, Equatable {
    public var version: String
    public var pid: Int
    /// RFC 3339.
    public var started: String
    public var accounts: Int
    public var online: Int
    /// Clients connected, this one included.
    public var clients: Int
    /// A service manager has started it.
    public var service: Bool?
    /// Why the stored accounts cannot be read; what they were before holds.
    public var accountsError: Failure?
    /// Where the local store was moved that was damaged: this agent has begun a fresh one.
    public var damagedStore: String?
    /// As ``SessionStatus/warnings``.
    public var warnings: [Failure]?
    public init(version: String, pid: Int, started: String, accounts: Int, online: Int, clients: Int) {
      self.version = version
      self.pid = pid
      self.started = started
      self.accounts = accounts
      self.online = online
      self.clients = clients
    }
  }
}

/// Ends the agent; `isLogin` and secrets stay. Answered before the sessions are closed.
public enum AgentStopMethod: AgentMethod {
  public static let name = "agent.stop"
  public static let isIdempotent = true
  public typealias Parameters = Nothing
  public typealias Result = Nothing
}

/// Ends the account's session if it has one, and deletes what is stored of it.
public enum AccountRemoveMethod: AgentMethod {
  public static let name = "account.remove"
  public struct Parameters: Codable, Sendable {
    public var account: String
    public init(account: String) { self.account = account }
  }
  public typealias Result = Nothing
}

/// Has the server forget its token for this device, and deletes it.
public enum TokenRevokeMethod: AgentMethod {
  public static let name = "token.revoke"
  public struct Parameters: Codable, Sendable {
    /// Absent: the default account.
    public var account: String?
    /// Seconds.
    public var timeout: Double
    public init(account: String?, timeout: Double = 20) {
      self.account = account
      self.timeout = timeout
    }
  }
  public struct Result: Codable, Sendable, Equatable {
    /// There was a token.
    public var revoked: Bool
    public init(revoked: Bool) { self.revoked = revoked }
  }
}

// What scripts read has every key, null where there is no value.

extension PresenceStatus {
  public func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: CodingKeys.self)
    try fields.encode(show, forKey: .show)
    try fields.encode(status, forKey: .status)
    try fields.encode(priority, forKey: .priority)
    try fields.encode(applied, forKey: .applied)
  }
}

extension LogoutMethod.Parameters {
  /// Absent fields have the value that ``init(account:)`` gives them.
  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    self.init(account: try fields.decodeIfPresent(String.self, forKey: .account))
    all = try fields.decodeIfPresent(Bool.self, forKey: .all) ?? all
    forget = try fields.decodeIfPresent(Bool.self, forKey: .forget) ?? forget
    force = try fields.decodeIfPresent(Bool.self, forKey: .force) ?? force
    flush = try fields.number(Double.self, forKey: .flush) ?? flush
    revoke = try fields.decodeIfPresent(Bool.self, forKey: .revoke) ?? revoke
    timeout = try fields.number(Double.self, forKey: .timeout) ?? timeout
  }
}

extension TokenRevokeMethod.Parameters {
  /// Absent fields have the value that ``init(account:timeout:)`` gives them.
  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    self.init(account: try fields.decodeIfPresent(String.self, forKey: .account))
    timeout = try fields.number(Double.self, forKey: .timeout) ?? timeout
  }
}

extension StatusMethod.Parameters {
  /// Absent fields have the value that ``init(account:all:probe:timeout:)`` gives them.
  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    self.init(account: try fields.decodeIfPresent(String.self, forKey: .account))
    all = try fields.decodeIfPresent(Bool.self, forKey: .all) ?? all
    probe = try fields.decodeIfPresent(Bool.self, forKey: .probe) ?? probe
    timeout = try fields.number(Double.self, forKey: .timeout) ?? timeout
  }
}

extension PresenceSetMethod.Parameters {
  /// Absent: `hold` is false.
  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      account: try fields.decodeIfPresent(String.self, forKey: .account),
      show: try fields.decode(PresenceShow.self, forKey: .show))
    status = try fields.decodeIfPresent(String.self, forKey: .status)
    priority = try fields.number(Int.self, forKey: .priority)
    to = try fields.decodeIfPresent(String.self, forKey: .to)
    duration = try fields.number(Double.self, forKey: .duration)
    hold = try fields.decodeIfPresent(Bool.self, forKey: .hold) ?? hold
    since = try fields.number(Double.self, forKey: .since)
  }
}

extension KeyedDecodingContainer {
  /// As `decodeIfPresent`, for what is a number or has one inside: the decoder does not tell where a number stood
  /// that does not fit.
  func number<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
    do {
      return try decodeIfPresent(type, forKey: key)
    } catch  where !(error is DecodingError) {
      throw DecodingError.dataCorruptedError(forKey: key, in: self, debugDescription: "no such number")
    }
  }
}
