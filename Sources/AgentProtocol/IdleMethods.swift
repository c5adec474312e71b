/// What a session does while the user looks away.
public enum IdleMode: String, Codable, Sendable, CaseIterable {
  /// It stays, and the server is told that what can wait may wait (XEP-0352).
  case csi
  /// It is ended, and comes back with ``AgentActiveMethod``.
  case disconnect
}

/// Whether the user of an account looks away, and whether that is in effect.
public struct IdleStatus: Codable, Sendable, Equatable {
  public var account: String
  /// Absent: the user is there.
  @Nullable public var idle: IdleMode?
  /// False where the server does not want to know, or there is no session that could tell it.
  public var applied: Bool
  public init(account: String, idle: IdleMode?, applied: Bool) {
    self.account = account
    self.idle = idle
    self.applied = applied
  }
}

/// The user looks away: remembered until ``AgentActiveMethod``, and told again after every reconnect.
public enum AgentIdleMethod: AgentMethod {
  public static let name = "agent.idle"
  public static let isIdempotent = true
  public struct Parameters: MethodParameters {
    /// Absent: every account, also those that log in later.
    public var account: String?
    /// Absent: as the agent was started with.
    public var mode: IdleMode?
    public init(account: String?, mode: IdleMode? = nil) {
      self.account = account
      self.mode = mode
    }
  }
  public typealias Result = [IdleStatus]
}

/// The user is back.
public enum AgentActiveMethod: AgentMethod {
  public static let name = "agent.active"
  public static let isIdempotent = true
  public struct Parameters: MethodParameters {
    /// Absent: every account.
    public var account: String?
    public init(account: String?) { self.account = account }
  }
  public typealias Result = [IdleStatus]
}
