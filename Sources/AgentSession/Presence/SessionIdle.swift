import AgentProtocol
import XMPP
import XMPPFeatures

// The session while the user is away.

extension Session {
  /// Sets the idle mode of the session; nil when the user is back. The mode is kept across reconnections.
  package func setIdle(_ mode: IdleMode?) async -> IdleStatus {
    let before = idle
    reconnection.idleChanged(to: mode)
    if mode == .disconnect {
      await rest()
      // No request is needed: the next session starts in the active state.
      if idle == .disconnect { await client.setActive(true) }
      return IdleStatus(account: account.description, idle: idle, applied: idle == mode)
    }
    if before == .disconnect { await keepOnline() }
    let isTold = before == mode ? online != nil : await client.setActive(mode != .csi)
    return IdleStatus(account: account.description, idle: idle, applied: isTold)
  }

  /// Ends the idle mode when the user logs in by hand, also for the next agent.
  func endRest() async throws(Failure) {
    guard idle == .disconnect else { return }
    reconnection.idleChanged(to: nil)
    try await accounts.change(account) { $0.idle = nil }
  }

  /// Ends the session politely and keeps the data for the next one.
  private func rest() async {
    try? await inTurn { session async throws(Failure) in
      // The user may have come back or logged in while this waited for its turn.
      guard session.idle == .disconnect else { return }
      _ = await session.messages.outbox.flush(within: 2)
      await session.closeStreams()
    }
  }
}
