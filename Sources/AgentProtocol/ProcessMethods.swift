/// Who the agent is. The first call of every client.
public enum AgentStatusMethod: AgentMethod {
  public static let name = "agent.status"
  public static let isQuestion = true
  public static let isIdempotent = true
  public static let needsPlace = false
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
  public static let needsPlace = false
  public typealias Parameters = Nothing
  public typealias Result = Nothing
}
