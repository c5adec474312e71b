import AgentProtocol
import AgentStore
import XMPPStanza

// Reacts to changes of the stored account by other processes.

extension Session {
  /// Logs in or out, or adopts the stored settings; an online session adopts them with its next connection.
  ///
  /// - Throws: The error of invalid stored data, which change nothing.
  package func follow(_ change: KnownAccounts.Change) async throws(Failure) {
    switch change.consequence {
    case .nothing: break
    case .logIn:
      await presence.reload(change.after?.presence)
      try await autoLogin(isStart: change.isStart)
    case .logOut: await logOut(forgetting: change.after == nil)
    case .goBy(let isPresenceChanged):
      guard let stored = change.after else { return }
      if isPresenceChanged { await presence.reload(stored.presence) }
      try await goBy(stored)
    }
  }

  private func goBy(_ stored: Account) async throws(Failure) {
    try await inTurn { session async throws(Failure) in
      var plan = try session.plan(of: stored)
      plan.sendsPresence = stored.noPresence != true
      if !stored.hasCredential {
        // The stored credentials may be fewer than those of the session.
        guard let active = session.activePlan else { return }
        plan.credential = active.credential
        plan.deviceToken = active.deviceToken
        plan.scramKeys = active.scramKeys
      }
      session.reconnection.activate(plan)
    }
  }

  /// Logs out, except for the store, which has the result already.
  private func logOut(forgetting: Bool) async {
    try? await reconnection.logoutWaits { () async throws(Failure) in
      await giveUpLogin()
      try await inTurn { session async throws(Failure) in
        session.reconnection.loggedOut()
        _ = await session.messages.outbox.flush(within: 2)
        await session.closeStreams()
        session.published.forgetDataReady()
        if forgetting { session.presence.restore(PresenceIntent()) }
      }
    }
  }
}
