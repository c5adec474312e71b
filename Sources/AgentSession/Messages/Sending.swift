import AgentProtocol

/// The accepted messages of a request whose delivery is under way.
struct Sending: Sendable {
  /// Waits for the outcome as long as the client wanted, or until the task is cancelled.
  let outcome: @Sendable () async -> MessageSendMethod.Result
}
