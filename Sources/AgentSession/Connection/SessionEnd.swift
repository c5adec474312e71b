import AgentLogin
import AgentProtocol
import AgentStore
import FoundationEssentials
import NIOCore
import XMPP
import XMPPClient
import XMPPStanza

// Logouts, and ends of the session by another party.

extension Session {
  /// Logs out. `isLogin` becomes false before anything is closed, so that the account is not logged in again after a
  /// crash. An unwritable store does not prevent the logout.
  ///
  /// Unsent messages remain in the outbox, and the account remains stored, unless it is to be forgotten. The result
  /// contains their number, and why the server did not revoke the token if requested; the account then remains stored,
  /// too.
  package func logout(
    _ parameters: LogoutMethod.Parameters
  ) async throws(Failure) -> LogoutMethod.Result {
    let time = LogoutTime(limit: parameters.timeout)
    return try await reconnection.logoutWaits { () async throws(Failure) in
      if online?.login != nil { _ = await messages.outbox.flush(within: time.flush(parameters.flush)) }
      await giveUpLogin(patience: min(.seconds(2), time.close()))
      return try await logOut(parameters, time)
    }
  }

  private func logOut(
    _ parameters: LogoutMethod.Parameters, _ time: LogoutTime
  ) async throws(Failure) -> LogoutMethod.Result {
    try await inTurn { session async throws(Failure) in
      var stored: Account?
      if parameters.revoke {
        stored = try? await session.accounts.entry(session.account)
        if let token = session.deviceToken { stored?.token = token }
      }
      session.reconnection.loggedOut()
      var failure: Failure?
      do throws(Failure) { try await session.accounts.loggedOut(session.account, parameters) } catch {
        failure = error
      }
      var unsent = await session.messages.outbox.flush(within: time.flush(parameters.flush))
      if parameters.forget { await session.devices.remove() }
      await session.closeStreams(patience: time.close())
      if parameters.force, unsent > 0 {
        try await session.messages.outbox.removeAll()
        unsent = 0
      }
      // An anonymous account cannot log in again, so that its messages are removed.
      if session.account.local == nil { try await session.messages.forget() }
      session.published.forgetDataReady()
      var unrevoked: Failure?
      if let stored {
        do throws(Failure) {
          try await TokenRevocation.revoke(
            stored, timeout: time.revocation(max(parameters.flush, 10)))
          try await session.accounts.change(session.account) { $0.forgetDeviceToken() }
        } catch {
          unrevoked = error
        }
      }
      if let failure {
        var result = LogoutMethod.Result(accounts: [session.account.description], unsent: unsent)
        result.unstored = failure
        return result
      }
      if parameters.forget, unrevoked == nil, unsent == 0 {
        try await session.accounts.remove(session.account)
        try await session.messages.forget()
        session.presence.restore(PresenceIntent())
      }
      var result = LogoutMethod.Result(
        accounts: [session.account.description], unsent: unsent, unrevoked: unrevoked)
      let entry = try await session.accounts.entry(session.account)
      result.kept = entry?.keptSecret.map { [session.account.description: $0] }
      return result
    }
  }

  /// Ends the session and leaves the store unchanged, because the agent is ending. Waits for no turn.
  package func close() async {
    reconnection.agentEnds()
    // Messages are flushed first, because a login that is not yet synchronised also sends messages.
    _ = await messages.outbox.flush(within: 10)
    await giveUpLogin()
    await closeStreams()
  }

  /// - Parameter patience: The time in which a server should end a stream. If the connection is closed before the
  ///   server has read the end of the stream, other users continue to see the session.
  func closeStreams(patience: TimeAmount = .seconds(5)) async {
    let farewell = presence.farewell
    let ended = endOnline(.offline)
    if ended != nil { published.serverHeard(secondsAgo: 0) }
    contacts.end()
    await client.disconnect(sending: farewell, patience: patience)
    if let ended { await messages.ended(ended.stream) }
    await messages.endResumption()
    if published.status.state != .offline { enter(.offline) }
  }

  /// Marks the online session as ended, and returns it.
  ///
  /// - Parameter next: The state that will be published soon, and applies until then.
  @discardableResult
  func endOnline(_ next: SessionState) -> OnlineSession? {
    published.streamEnded(next)
    messages.outbox.suspend()
    online?.end()
    defer { online = nil }
    return online
  }

  // MARK: Ends by another party

  /// The stream of the last session has ended.
  ///
  /// - Parameter cure: Why the next session will not end for the same reason.
  func lost(_ stream: BoundSession, _ error: XMPPError?, _ cure: StreamSuccession.Remedy?) async {
    reconnection.streamEnded()
    // The session itself may have ended the stream, and published its state.
    guard let lost = online else { return await messages.ended(stream) }
    let isNew = lost.login != nil
    var failure = error.map(Failure.init) ?? (isNew ? nil : closedInVain)
    if cure == .afterOwnAttempt {
      failure = Failure(.networkError, stage: .stream, detail: .session(.earlierAttempt))
    }
    endOnline(failure.map { isNew ? .loginFailed : Self.state(afterLosing: $0) } ?? .offline)
    await messages.ended(stream)
    guard !isNew, !lost.isAccountEnding, let failure else { return }
    await self.lost(lost, failure)
  }

  /// The failure for a stream that was closed in favour of another one that failed, while the session is to be online.
  /// Nil if the reaction is already known.
  private var closedInVain: Failure? {
    guard login?.isConnecting != true, activePlan != nil else { return nil }
    return Failure(.networkError, stage: .stream, detail: .session(.loginFailed))
  }

  /// An online session has ended by itself. Meanwhile, published states belong to another login, if there is one.
  func lost(_ lost: OnlineSession, _ error: Failure) async {
    await writing { await lose(lost, error) }
  }

  private func lose(_ lost: OnlineSession, _ error: Failure) async {
    // The user may have logged out meanwhile.
    guard published.status.state != .offline else { return }
    let by = error.name == .kicked ? devices.kicker : nil
    let error = by.map(error.done) ?? error
    let failure = [.syncOK, .netChanged].contains(lost.state) ? error : error.beforeSync
    let state = Self.state(afterLosing: failure)
    let reaction = reconnection.sessionLost(failure, lost.plan)
    if login?.isConnecting != true, published.mayEnter(state) { enter(state, cause: failure) }
    if state == .kicked {
      tellKick(of: lost, failure, by: by, retryIn: reaction.seconds)
      // The server has ended the session, so that it cannot be resumed.
      await client.endSession()
    }
    if reconnection.answer != .never, login == nil, !turns.isTaken { beginReconnection() }
    let idleTime = await lost.stream.stream.idleTime
    published.serverHeard(secondsAgo: Double(idleTime.nanoseconds) / 1e9)
    await remember(
      failure, state: state, plan: lost.plan, mechanism: lost.bound.mechanism,
      comesBack: reaction.comesBack)
  }

  private func tellKick(
    of lost: OnlineSession, _ failure: Failure, by device: DeviceIdentity?, retryIn seconds: Double?
  ) {
    var kick = Kick(
      cause: failure, fullJID: lost.bound.jid.description, onlineSince: published.onlineSince,
      next: seconds == nil ? .stop : lost.plan.onKick)
    kick.by = device
    kick.retryIn = seconds.map { ($0 * 1000).rounded() / 1000 }
    hub.publish(account: account.description, .kicked(kick))
  }

  /// The state of a session that ended by itself.
  static func state(afterLosing failure: Failure) -> SessionState {
    ReconnectPolicy.ends(failure) ? .kicked : .loseConnection
  }
}

extension Failure {
  /// The failure for a session that was not synchronised yet: another device logged in at the same time.
  var beforeSync: Failure {
    guard name == .kicked, condition == "conflict" else { return self }
    return Failure(.otherDeviceLogin, stage: stage, detail: detail, condition: condition, text: text)
  }

  /// The failure with the device that caused it.
  func done(by device: DeviceIdentity) -> Failure {
    let facts: [FailureDetail] = [
      device.name.map { .text($0) }, device.platform.map { .session(.platform, $0) },
      device.ext.map { .text($0) },
    ].compactMap(\.self)
    let all = facts.dropFirst().reduce(facts.first) { all, fact in all.map { .form(.list, $0, fact) } }
    return Failure(
      name, stage: stage, detail: all.map { .session(.by, $0) } ?? .session(.byOtherDevice),
      condition: condition, text: text)
  }
}
