import AgentProtocol

/// Messages that were accepted and are on their way.
struct Sending: Sendable {
  /// Waits as long as the client wanted, or until its task is cancelled.
  let outcome: @Sendable () async -> MessageSendMethod.Result
}
