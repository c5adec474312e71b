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
  func logout(
    _ parameters: LogoutMethod.Parameters
  ) async throws(Failure) -> LogoutMethod.Result {
    let time = LogoutTime(limit: parameters.timeout)
    leaving += 1
    defer { leaving -= 1 }
    pausing?.cancel()
    if let opening {
      if opening.session != nil { _ = await messages.outbox.flush(within: time.flush(parameters.flush)) }
      await giveUp(opening.number, patience: min(.seconds(2), time.close()))
    }
    return try await inTurn { session async throws(Failure) in
      var stored: Account?
      if parameters.revoke {
        stored = try? await session.accounts.entry(session.account)
        if let token = session.deviceToken { stored?.token = token }
      }
      if let kept = session.kept { session.pace.leave(kept.account.description, at: kept.serverName) }
      session.kept = nil
      session.lastFailure = nil
      session.end = nil
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
      session.forgetDataReady()
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
  func close() async {
    isEnding = true
    kept = nil
    pausing?.cancel()
    // Before it is given up: a login that is online and not synced yet takes messages.
    _ = await messages.outbox.flush(within: 10)
    await stopTrying()
    await closeStreams()
  }

  /// - Parameter patience: how long a server may take to end a stream. One that has not read our end when the connection is
  ///   gone keeps the session for others to see.
  func closeStreams(patience: TimeAmount = .seconds(5)) async {
    let farewell = presence.farewell
    let openings = [opening, online?.opening].compactMap(\.self)
    if endOnline(.offline) != nil { lastSeen = timestamp() }
    succession.forget()
    contacts.end()
    for opening in openings {
      await opening.stream.close(sending: farewell, patience: patience)
      if let session = opening.session { await messages.ended(session) }
    }
    await messages.endResumption()
    if status.state != .offline { enter(.offline) }
  }

  /// A running session ended without our doing. What is told of meanwhile is a login beside it, if there is one.
  ///
  /// - Parameter isCured: the next stream does not end for the same reason.
  func lost(_ lost: Online, _ error: Failure, isCured: Bool = false) async {
    await writing { await lose(lost, error, isCured) }
  }

  private func lose(_ lost: Online, _ error: Failure, _ isCured: Bool) async {
    // The user has logged out meanwhile.
    guard status.state != .offline else { return }
    let by = error.name == .kicked ? devices.kicker : nil
    let error = by.map(error.done) ?? error
    let failure = lost.state == .syncOK || lost.state == .netChanged ? error : error.beforeSync
    lastFailure = failure
    let state = Self.state(afterLosing: failure)
    let tells = opening == nil && SessionLifecycle.event(from: status.state, to: state) != nil
    var comesBack = true
    if state == .kicked {
      // The server has ended it, and keeps nothing that one could go on with.
      succession.endSession()
      let answer = answer(failure, lost.plan)
      var kick = Kick(
        cause: failure, fullJID: lost.bound.jid.description, onlineSince: onlineSince, next: lost.plan.onKick)
      kick.by = by
      switch answer {
      case .stop:
        comesBack = false
        over(failure)
        kick.next = .stop
      case .comeBack(let seconds, _): kick.retryIn = (seconds * 1000).rounded() / 1000
      }
      if tells { enter(state, cause: failure) }
      hub.publish(account: account.description, .kicked(kick))
    } else if ReconnectPolicy.isGone(failure) {
      comesBack = false
      over(failure)
      if tells { enter(state, cause: failure) }
    } else {
      reconnectPolicy.lost(after: clock.uptime() - lost.began, ReconnectPolicy.cause(of: failure))
      if isCured { reconnectPolicy.restart() }
      postpone(after: failure, lost.plan, isExpected: isCured || lost.state == .netChanged)
      if tells { enter(state, cause: failure) }
    }
    let idleTime = await lost.stream.stream.idleTime
    lastSeen = timestamp(-Double(idleTime.nanoseconds) / 1e9)
    keepOnline()
    await remember(failure, state: state, plan: lost.plan, comesBack: comesBack)
  }

  /// What a running session is after an end that was not our doing.
  static func state(afterLosing failure: Failure) -> SessionState {
    ReconnectPolicy.ends(failure) ? .kicked : .loseConnection
  }

  /// What follows on an end that somebody else decided. Where the session is to come back, it is due then.
  func answer(_ failure: Failure, _ plan: LoginPlan) -> KickPolicy.Answer {
    guard [.kicked, .otherDeviceLogin].contains(failure.name) else { return .stop }
    var generator = SystemRandomNumberGenerator()
    let answer = kickPolicy.answer(plan.onKick, at: clock.uptime(), using: &generator)
    if case .comeBack(let seconds, let newResource) = answer {
      due = clock.uptime() + seconds
      if newResource { kept?.takeOtherResource() }
    }
    return answer
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
