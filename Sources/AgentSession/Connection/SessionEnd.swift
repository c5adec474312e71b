import AgentLogin
import AgentProtocol
import AgentStore
import FoundationEssentials
import NIOCore
import XMPP
import XMPPClient
import XMPPStanza

// Leaving, and being thrown out.

extension Session {
  /// Logs out: `isLogin` is false before anything is closed, so that a crash cannot log in again. A store that cannot
  /// be written keeps nobody online.
  ///
  /// What could not be sent stays in the outbox, and the account stored, unless it is to be dropped. Tells how much
  /// that is, and why the server has not forgotten the token where it should: then the account stays stored, too.
  package func logout(
    _ parameters: LogoutMethod.Parameters
  ) async throws(Failure) -> LogoutMethod.Result {
    let time = LogoutTime(limit: parameters.timeout)
    reconnection.leaving += 1
    defer { reconnection.leaving -= 1 }
    if let login {
      if online?.login != nil { _ = await messages.outbox.flush(within: time.flush(parameters.flush)) }
      if self.login === login { await giveUpLogin(patience: min(.seconds(2), time.close())) }
    }
    return try await inTurn { session async throws(Failure) in
      var stored: Account?
      if parameters.revoke {
        stored = try? await session.accounts.entry(session.account)
        if let token = session.deviceToken { stored?.token = token }
      }
      session.reconnection.deactivate()
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
      // Nobody in particular comes back.
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

  /// Ends the session for good and leaves the store as it is: the agent is about to end. Waits for no turn.
  package func close() async {
    reconnection.isEnding = true
    activePlan = nil
    // Before it is given up: a login that is online and not synced yet takes messages.
    _ = await messages.outbox.flush(within: 10)
    await giveUpLogin()
    await closeStreams()
  }

  /// - Parameter patience: how long a server may take to end a stream. One that has not read our end when the connection is
  ///   gone keeps the session for others to see.
  func closeStreams(patience: TimeAmount = .seconds(5)) async {
    let farewell = presence.farewell
    let ended = endOnline(.offline)
    if ended != nil { published.lastSeen = timestamp() }
    contacts.end()
    await client.disconnect(sending: farewell, patience: patience)
    if let ended { await messages.ended(ended.stream) }
    await messages.endResumption()
    if published.status.state != .offline { enter(.offline) }
  }

  /// The session that was online is so no more; which.
  ///
  /// - Parameter next: the state that will be told of, and is the one until then.
  @discardableResult
  func endOnline(_ next: SessionState) -> OnlineSession? {
    published.stateToTell = next
    messages.outbox.suspend()
    online?.end()
    defer { online = nil }
    return online
  }

  // MARK: Without our doing

  /// The stream of the last session has ended.
  ///
  /// - Parameter cure: why the next session does not end for the same reason.
  func lost(_ stream: BoundSession, _ error: XMPPError?, _ cure: StreamSuccession.Remedy?) async {
    reconnection.answer = reconnection.isWanted ? .atOnce : .never
    // The session itself may have ended it, and has said so.
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

  /// A stream that was closed for another one, which did not come: the session is to be online all the same. nil where
  /// it is known what follows.
  private var closedInVain: Failure? {
    guard login?.isConnecting != true, activePlan != nil else { return nil }
    return Failure(.networkError, stage: .stream, detail: .session(.loginFailed))
  }

  /// A running session ended without our doing. What is told of meanwhile is a login beside it, if there is one.
  func lost(_ lost: OnlineSession, _ error: Failure) async {
    await writing { await lose(lost, error) }
  }

  private func lose(_ lost: OnlineSession, _ error: Failure) async {
    // The user has logged out meanwhile.
    guard published.status.state != .offline else { return }
    let by = error.name == .kicked ? devices.kicker : nil
    let error = by.map(error.done) ?? error
    let failure = [.syncOK, .netChanged].contains(lost.state) ? error : error.beforeSync
    reconnection.lastFailure = failure
    let state = Self.state(afterLosing: failure)
    let tells = login?.isConnecting != true && published.mayEnter(state)
    if state == .kicked {
      let seconds = reconnection.comesBack(after: failure, lost.plan)
      reconnection.answer = seconds.map { .after(seconds: $0) } ?? .never
      if seconds == nil { over(failure) }
      if tells { enter(state, cause: failure) }
      tellKick(of: lost, failure, by: by, retryIn: seconds)
      // The server has ended it, and keeps nothing that one could go on with.
      await client.endSession()
    } else if ReconnectPolicy.isGone(failure) {
      over(failure)
      if tells { enter(state, cause: failure) }
    } else {
      reconnection.answer = reconnection.pause(after: failure, lost.plan)
      if tells { enter(state, cause: failure) }
    }
    let comesBack = reconnection.answer != .never
    if !reconnection.isWanted { reconnection.answer = .never }
    if reconnection.isWanted, comesBack, login == nil, !turns.isTaken { beginReconnection() }
    let idleTime = await lost.stream.stream.idleTime
    published.lastSeen = timestamp(-Double(idleTime.nanoseconds) / 1e9)
    await remember(
      failure, state: state, plan: lost.plan, mechanism: lost.bound.mechanism, comesBack: comesBack)
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

  /// What a running session is after an end that was not our doing.
  static func state(afterLosing failure: Failure) -> SessionState {
    ReconnectPolicy.ends(failure) ? .kicked : .loseConnection
  }
}

extension Failure {
  /// The same end of a session that was not synced yet: another device has come at the same moment.
  var beforeSync: Failure {
    guard name == .kicked, condition == "conflict" else { return self }
    return Failure(.otherDeviceLogin, stage: stage, detail: detail, condition: condition, text: text)
  }

  /// The same with who did it.
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
