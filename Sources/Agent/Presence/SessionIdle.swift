import AgentProtocol
import XMPP
import XMPPFeatures

// The user looks away, and is back.

extension Session {
  /// What the session does from now on; nil: the user is there. Remembered over reconnects.
  func setIdle(_ mode: IdleMode?) async -> IdleStatus {
    let before = idle
    reconnection.idle = mode
    if mode == .disconnect {
      await rest()
      // Nobody is told: the next session begins as one whose user is there.
      if idle == .disconnect { await client.setActive(true) }
      return IdleStatus(account: account.description, idle: idle, applied: idle == mode)
    }
    if before == .disconnect {
      reconnection.lastFailure = nil
      await keepOnline()
    }
    let isTold = before == mode ? online != nil : await client.setActive(mode != .csi)
    return IdleStatus(account: account.description, idle: idle, applied: isTold)
  }

  /// Who logs in by hand is back, also when the next agent starts.
  func endRest() async throws(Failure) {
    guard idle == .disconnect else { return }
    reconnection.idle = nil
    try await accounts.change(account) { $0.idle = nil }
  }

  /// Ends the session politely; what it is kept online with stays.
  private func rest() async {
    try? await inTurn { session async throws(Failure) in
      // The user may have come back, or logged in, while another turn was waited for.
      guard session.idle == .disconnect else { return }
      _ = await session.messages.outbox.flush(within: 2)
      await session.closeStreams()
    }
  }
}
