import AgentProtocol
import XMPP
import XMPPClient

// What the messages of a session ask of it.

extension Session {
  /// Accepts messages, as ``Outbox/send(_:)``.
  func send(_ parameters: MessageSendMethod.Parameters) async throws(Failure) -> Sending {
    try await messages.outbox.send(parameters)
  }

  /// Returns when it is known what the account can do, which is asked once a session.
  func discover(_ stream: BoundSession) async { await messages.archive.discover(stream) }

  /// Messages that are to be sent are accepted: an agent that has begun to end takes them for the next one.
  func acceptsMessages() async -> Bool {
    guard reconnection.leaving == 0 else { return false }
    return await isToBeOnline()
  }

  /// Online, or about to be by itself.
  func isToBeOnline() async -> Bool {
    if isActive || activePlan != nil { return true }
    return (try? await accounts.entry(account))?.isLogin == true
  }

  /// The bound stream, on which the past is fetched. The first login of this agent is waited for.
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
