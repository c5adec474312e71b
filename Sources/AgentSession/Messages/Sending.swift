import AgentProtocol

/// The accepted messages of a request whose delivery is under way.
package struct Sending: Sendable {
  /// Waits for the outcome as long as the client wanted, or until the task is cancelled.
  package let outcome: @Sendable () async -> MessageSendMethod.Result
}
