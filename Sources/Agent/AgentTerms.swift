import AgentProtocol

/// How an agent was started.
public struct AgentTerms: Sendable {
  /// It stays though nobody needs it.
  public var isKept = false
  /// The service manager that has started it.
  public var notify: NotifySocket?
  /// What ``AgentIdleMethod`` does where its caller does not say.
  public var onIdle = IdleMode.csi

  public init() {}
}
