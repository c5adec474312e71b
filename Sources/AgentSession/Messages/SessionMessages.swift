import AgentProtocol
import XMPP
import XMPPClient

// The functions of a session that its messages use.

extension Session {
  /// Accepts messages, as ``Outbox/send(_:)``.
  package func send(_ parameters: MessageSendMethod.Parameters) async throws(Failure) -> Sending {
    try await messages.outbox.send(parameters)
  }

  /// Returns when the account's features are known; they are requested once per session.
  func discover(_ stream: BoundSession) async { await messages.archive.discover(stream) }

  /// Whether messages for sending are accepted; an agent that has begun to exit accepts them for the next agent.
  func acceptsMessages() async -> Bool {
    guard !reconnection.isLogoutWaiting else { return false }
    return await isToBeOnline()
  }

  /// Whether the session is online, or will be without a command.
  func isToBeOnline() async -> Bool {
    if isActive || activePlan != nil { return true }
    return (try? await accounts.entry(account))?.isLogin == true
  }

  /// The bound stream for reading history. Waits for the first login of this agent.
  func streamForHistory(within limit: Duration) async throws(Failure) -> BoundSession {
    if online == nil, lastFailure == nil, await isToBeOnline() {
      try await waitUntilOnline(until: .now + limit)
    }
    if let stream = online?.stream { return stream }
    throw activePlan == nil
      ? Failure(.notLoggedIn, stage: .request, detail: .text(account.description))
      : lastFailure ?? Failure(.networkError, stage: .request, detail: .text(account.description))
  }
}
