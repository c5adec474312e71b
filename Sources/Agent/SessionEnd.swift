import AgentProtocol
import FoundationEssentials
import XMPP
import XMPPStanza

// Leaving, being thrown out, and coming back.

extension Session {
  /// Logs out: `isLogin` is false before anything is closed, so that a crash cannot log in again.
  func logout(_ parameters: LogoutMethod.Parameters) async throws(Failure) {
    try await inTurn { session async throws(Failure) in
      try await session.accounts.change(session.account) { entry in
        entry.loggedOut()
        entry.lastState = nil
      }
      await session.close()
      session.forgetDataReady()
      if parameters.forget { try await session.accounts.remove(session.account) }
    }
  }

  /// Ends the session and leaves the store as it is: what `agent stop` and SIGTERM do.
  func close() async {
    await stopReconnecting()
    let farewell = farewell
    let streams = [opening?.stream, online?.stream].compactMap { $0 }
    let wasActive = !streams.isEmpty || status.state != .offline
    online = nil
    for stream in streams { await stream.close(sending: farewell) }
    if wasActive { enter(.offline) }
  }

  /// A running session ended without our doing.
  func lost(_ failure: Failure, plan: LoginPlan?) async {
    let row = FailureTable[failure.name]
    if row?.clears == .isLogin || row?.retry == .stop {
      enter(.kicked, cause: failure)
    } else {
      enter(.loseConnection, cause: failure)
    }
    await remember(failure, plan: plan)
    guard let plan, row?.retry.retries(automatic: true) == true else { return }
    if opening != nil { interrupted = plan } else { reconnect(plan, after: failure) }
  }

  /// Logs in with what is stored, and keeps trying; unless the user has logged in or out meanwhile.
  func autoLogin(_ plan: LoginPlan) async throws(Failure) {
    try await inTurn { session async throws(Failure) in
      let isLogin = try await session.accounts.entry(session.account)?.isLogin == true
      guard isLogin, !session.isActive else { return }
      session.tellDataReady()
      session.reconnect(plan, after: nil)
    }
  }

  /// Returns when no automatic attempt is on its way any more.
  func stopReconnecting() async {
    let running = reconnecting
    reconnecting = nil
    interrupted = nil
    running?.cancel()
    await running?.value
  }

  func reconnect(_ plan: LoginPlan, after failure: Failure?) {
    reconnecting = Task { await self.keepTrying(plan, after: failure) }
  }

  private func keepTrying(_ plan: LoginPlan, after failure: Failure?) async {
    var last = failure
    var parameters = LoginMethod.Parameters(account: account.description)
    parameters.timeout = 30
    while !Task.isCancelled {
      if let last {
        do throws(Failure) { try await pause(after: last) } catch { return }
      }
      do throws(Failure) {
        _ = try await open(plan, parameters)
        return
      } catch {
        if Task.isCancelled { return }
        let triesAgain = FailureTable[error.name]?.retry.retries(automatic: true) == true
        if !triesAgain { reconnecting = nil }
        await failed(error, plan: plan)
        if !triesAgain { return }
        last = error
      }
    }
  }

  /// Waits as the policy says, in the state `waiting`.
  func pause(after failure: Failure) async throws(Failure) {
    var generator = SystemRandomNumberGenerator()
    let cause: ReconnectPolicy.Cause =
      failure.name == .rateLimited ? .rateLimit : failure.condition == nil ? .link : .server
    let seconds = (reconnectPolicy.pause(after: cause, using: &generator) * 1000).rounded() / 1000
    status.nextRetry = Timestamp.text(Date().addingTimeInterval(seconds))
    enter(.waiting, cause: failure) {
      $0.retryIn = seconds
      $0.attempt = attempt
    }
    defer { status.nextRetry = nil }
    do { try await Task.sleep(for: .seconds(seconds)) } catch { throw Failure(.cancelled, stage: .connect) }
  }
}
