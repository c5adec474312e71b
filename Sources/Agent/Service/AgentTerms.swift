import AgentProtocol
import AgentSystem

/// How an agent was started.
package struct AgentTerms: Sendable {
  /// It stays though nobody needs it.
  package var isKept = false
  /// The service manager that has started it.
  package var notify: NotifySocket?
  /// What ``AgentIdleMethod`` does where its caller does not say.
  package var onIdle = IdleMode.csi

  package init() {}
}
