import AgentProtocol
import AgentSystem

/// The options with which an agent was started.
package struct AgentTerms: Sendable {
  /// Whether the agent stays even if it is not needed.
  package var isKept = false
  /// The socket of the service manager that started the agent.
  package var notify: NotifySocket?
  /// The idle mode where the caller of ``AgentIdleMethod`` names none.
  package var onIdle = IdleMode.csi

  package init() {}
}
