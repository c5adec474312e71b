/// What a session does while the user is inactive.
public enum IdleMode: String, Codable, Sendable, CaseIterable {
  /// The session continues, and the server may delay unimportant stanzas (XEP-0352).
  case csi
  /// The session ends, and resumes with ``AgentActiveMethod``.
  case disconnect
}

/// Whether the user of an account is inactive, and whether the idle mode is in effect.
public struct IdleStatus: Codable, Sendable, Equatable {
  public var account: String
  /// Null: the user is active.
  @Nullable public var idle: IdleMode?
  /// False if the server does not support client state, or if there is no session.
  public var applied: Bool
  public init(account: String, idle: IdleMode?, applied: Bool) {
    self.account = account
    self.idle = idle
    self.applied = applied
  }
}

/// The user is inactive. The agent remembers this until ``AgentActiveMethod``, and tells the server after every
/// reconnect.
public enum AgentIdleMethod: AgentMethod {
  public static let name = "agent.idle"
  public static let isIdempotent = true
  public struct Parameters: MethodParameters {
    /// Absent: all accounts, including those that log in later.
    public var account: String?
    /// Absent: the mode that the agent was started with.
    public var mode: IdleMode?
    public init(account: String?, mode: IdleMode? = nil) {
      self.account = account
      self.mode = mode
    }
  }
  public typealias Result = [IdleStatus]
}

/// The user is active again.
public enum AgentActiveMethod: AgentMethod {
  public static let name = "agent.active"
  public static let isIdempotent = true
  public struct Parameters: MethodParameters {
    /// Absent: all accounts.
    public var account: String?
    public init(account: String?) { self.account = account }
  }
  public typealias Result = [IdleStatus]
}
