/// Describes the running agent. This is the first call of every client.
public enum AgentStatusMethod: AgentMethod {
  public static let name = "agent.status"
  public static let mayBeAbandoned = true
  public static let isIdempotent = true
  public static let needsPlace = false
  public typealias Parameters = EmptyObject
  public struct Result: Codable, Sendable, Equatable {
    public var version: String
    public var pid: Int
    /// RFC 3339.
    public var started: String
    public var accounts: Int
    public var online: Int
    /// The number of connected clients, including this one.
    public var clients: Int
    /// Whether a service manager started the agent.
    public var service: Bool?
    /// Why the stored accounts cannot be read; their last known state applies.
    public var accountsError: Failure?
    /// The path to which a damaged local store was moved; this agent created a new one.
    public var damagedStore: String?
    /// The same as ``SessionStatus/warnings``.
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

/// Ends the agent; `isLogin` and secrets remain. The answer precedes the end of the sessions.
public enum AgentStopMethod: AgentMethod {
  public static let name = "agent.stop"
  public static let isIdempotent = true
  public static let needsPlace = false
  public typealias Parameters = EmptyObject
  public typealias Result = EmptyObject
}
