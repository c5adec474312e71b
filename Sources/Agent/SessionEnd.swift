import AgentProtocol
import FoundationEssentials
import XMPP
import XMPPStanza

// Leaving, being thrown out, and coming back.

extension Session {
  /// Logs out: `isLogin` is false before anything is closed, so that a crash cannot log in again. A store that cannot
  /// be written keeps nobody online.
  ///
  /// Gives why the server has not forgotten the token where it should: then the account stays stored, with the token.
  func logout(_ parameters: LogoutMethod.Parameters) async throws(Failure) -> Failure? {
    leaving += 1
    defer { leaving -= 1 }
    pausing?.cancel()
    if let opening { await giveUp(opening.stream) }
    return try await inTurn { session async throws(Failure) in
      var stored: Account?
      if parameters.revoke {
        stored = try? await session.accounts.entry(session.account)
        if let token = session.deviceToken { stored?.token = token }
      }
      session.kept = nil
      var failure: Failure?
      do throws(Failure) {
        try await session.accounts.change(session.account) { entry in
          entry.loggedOut(keepsToken: parameters.revoke)
          entry.lastState = nil
        }
      } catch {
        failure = error
      }
      await session.closeStreams()
      session.forgetDataReady()
      var unrevoked: Failure?
      if let stored {
        do throws(Failure) {
          try await TokenRevocation.revoke(stored, timeout: max(parameters.flush, 10))
          try await session.accounts.change(session.account) { $0.forgetDeviceToken() }
        } catch {
          unrevoked = error
        }
      }
      if let failure { throw failure }
      if parameters.forget, unrevoked == nil {
        try await session.accounts.remove(session.account)
        session.restore(PresenceIntent())
      }
      return unrevoked
    }
  }

  /// Ends the session for good and leaves the store as it is: the agent is about to end. Waits for no turn.
  func close() async {
    isEnding = true
    kept = nil
    pausing?.cancel()
    await stopTrying()
    await closeStreams()
  }

  func closeStreams() async {
    let farewell = farewell
    let streams = [opening?.stream, online?.stream].compactMap { $0 }
    endOnline()
    resumable = nil
    for stream in streams { await stream.close(sending: farewell) }
    if status.state != .offline { enter(.offline) }
  }

  /// A running session ended without our doing.
  func lost(_ failure: Failure, plan: LoginPlan) async {
    let isOver = ReconnectPolicy.ends(failure)
    let state: SessionState = isOver ? .kicked : .loseConnection
    if isOver { kept = nil }
    lastFailure = failure
    enter(state, cause: failure)
    keepOnline()
    await remember(failure, state: state, plan: plan)
  }

  /// Returns when no automatic attempt is on its way any more.
  func stopTrying() async {
    let running = trying
    trying = nil
    running?.cancel()
    await running?.value
  }

  /// Comes back, however long it takes.
  func keepTrying() async {
    while let plan = kept, !Task.isCancelled {
      do throws(Failure) {
        if let lastFailure { try await pause(after: lastFailure) }
        _ = try await open(plan, .automatic)
        return
      } catch {
        if Task.isCancelled { return }
        var failure = error
        if ReconnectPolicy.comesBack(after: error) {
          do throws(Failure) { try grantRetry(plan, after: error) } catch { failure = error }
        }
        lastFailure = failure
        if !ReconnectPolicy.comesBack(after: failure) || failure.name == .retriesExhausted {
          kept = nil
          trying = nil
        }
        await failed(failure, plan: plan)
      }
    }
  }

  /// Waits as the policy says, in the state `waiting`; not beyond `end`.
  func pause(after failure: Failure, within end: ContinuousClock.Instant? = nil) async throws(Failure) {
    var generator = SystemRandomNumberGenerator()
    let cause = ReconnectPolicy.cause(of: failure)
    let wanted = reconnectPolicy.pause(after: cause, using: &generator)
    let left = end.map { max(0, ($0 - ContinuousClock.now) / .seconds(1)) }
    let seconds = (min(wanted, left ?? wanted) * 1000).rounded() / 1000
    status.nextRetry = Timestamp.text(Date().addingTimeInterval(seconds))
    enter(.waiting, cause: failure) {
      $0.retryIn = seconds
      $0.attempt = attempt
    }
    defer { status.nextRetry = nil }
    let pause = Task { try await Task.sleep(for: .seconds(seconds)) }
    pausing = pause
    do {
      try await withTaskCancellationHandler {
        try await pause.value
      } onCancel: {
        pause.cancel()
      }
    } catch {
      throw Failure(.cancelled, stage: .connect)
    }
  }
}
