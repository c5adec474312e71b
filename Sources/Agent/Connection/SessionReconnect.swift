import AgentLogin
import AgentProtocol
import FoundationEssentials
import XMPPClient
import XMPPTransport

// Coming back: one attempt after the other, with the pauses between them.

extension Session {
  /// Returns when no automatic attempt is on its way any more.
  func stopTrying() async {
    let running = trying
    trying = nil
    running?.cancel()
    await running?.value
    // Nobody waits or connects now.
    let isOver = [.offline, .loseConnection, .kicked, .linkFailed, .loginFailed].contains(status.state)
    if !isActive, !isOver { enter(.offline) }
  }

  /// Comes back, however long it takes.
  func keepTrying() async {
    while var plan = kept, !Task.isCancelled {
      plan.checksLastLogin = plan.checksLastLogin || plan.devicePolicy.check == .last
      do throws(Failure) {
        try await pause(before: plan)
        try await waitForDescriptors()
        _ = try await open(plan, .automatic)
        return
      } catch {
        if Task.isCancelled { return }
        await writing { [error] in await attemptFailed(error, plan) }
      }
    }
  }

  private func attemptFailed(_ error: Failure, _ plan: LoginPlan) async {
    var failure = error
    var comesBack = true
    let needsSecret = ReconnectPolicy.needsFreshSecret(after: error)
    if ReconnectPolicy.comesBack(after: error) || tried.isElsewhere
      || (error.name == .protocolError && succession.leavesOutExcess)
    {
      do throws(Failure) { try grantRetry(plan, after: error) } catch {
        failure = error
        comesBack = false
      }
      postpone(after: error, plan)
    } else {
      comesBack = answer(error, plan) != .stop
    }
    lastFailure = failure
    if !comesBack && !needsSecret { endTrying(failure) }
    await failed(failure, plan: plan, comesBack: comesBack)
    if !comesBack { await leaveTrace(of: failure, plan) }
    guard needsSecret, !Task.isCancelled else { return }
    if let renewed = await renewed(plan, after: failure) {
      if Task.isCancelled { return }
      kept = renewed
      due = nil
    } else if !Task.isCancelled {
      endTrying(failure)
      forgetDataReady()
      tellLoginRequired(failure)
    }
  }

  /// A login that went ahead of a server has failed with the connection. Once that may be a passing fault; after the second
  /// time in a row the server is spoken to step by step.
  func keepObjection(to plan: LoginPlan) async {
    guard let server = plan.server else { return }
    let objections = min(2, server.objections + 1)
    kept?.server?.objections = objections
    try? await accounts.change(account) { $0.server?.objections = objections }
  }

  /// Whoever asks later is told why a first login in the background has failed, although nothing else is stored of it.
  private func leaveTrace(of failure: Failure, _ plan: LoginPlan) async {
    do throws(Failure) { try await accounts.leaveTrace(of: failure, plan) } catch {
      log.error("store", metadata: ["account": "\(account)", "failure": "\(error.message)"])
    }
  }

  private func endTrying(_ failure: Failure) {
    trying = nil
    over(failure)
  }

  // MARK: Pauses

  /// Decides when the next attempt is due.
  ///
  /// - Parameter isExpected: the link is known to be gone, and why: nothing is to be waited for.
  func postpone(after failure: Failure, _ plan: LoginPlan, isExpected: Bool = false) {
    var generator = SystemRandomNumberGenerator()
    let seconds = reconnectPolicy.pause(
      after: isExpected ? .reset : ReconnectPolicy.cause(of: failure),
      among: pace.join(account.description, at: plan.serverName),
      using: &generator)
    due = clock.uptime() + seconds
  }

  /// Waits in the state `waiting` until the next attempt is due and the server may be asked; not beyond `end`.
  func pause(before plan: LoginPlan, within end: ContinuousClock.Instant? = nil) async throws(Failure) {
    // The clock's first reading may be a little below 0.
    var seconds = max(0, due.map { $0 - clock.uptime() } ?? 0)
    var cause = lastFailure
    if let closed = pace.pause(of: plan.serverName, at: clock.now()), closed > seconds {
      seconds = closed
      cause = cause?.name == .rateLimited ? cause : notBefore(closed)
    }
    if let end { seconds = min(seconds, max(0, (end - ContinuousClock.now) / .seconds(1))) }
    guard seconds > 0 else { return }
    // However short it is, it is one.
    seconds = max(1, (seconds * 1000).rounded()) / 1000
    status.nextRetry = timestamp(seconds)
    // A login that is to replace a running session waits beside it.
    if status.state != .syncOK {
      enter(.waiting, cause: cause) {
        $0.retryIn = seconds
        $0.attempt = attempt
      }
    }
    isHurried = false
    let pause = Task { [clock, seconds] in try await clock.sleep(seconds) }
    pausing = pause
    defer {
      status.nextRetry = nil
      pausing = nil
    }
    do {
      try await withTaskCancellationHandler {
        try await pause.value
      } onCancel: {
        pause.cancel()
      }
    } catch {
      if isHurried, !Task.isCancelled { return }
      throw Failure(.cancelled, stage: .connect)
    }
  }

  /// Where so many files are open that no connection is made, there is no attempt, either: each would be stored.
  private func waitForDescriptors() async throws(Failure) {
    while !DescriptorReserve.leaves(DescriptorReserve.ofConnections) {
      let seconds = Double.random(in: 20...40)
      lastFailure = Failure(.networkError, stage: .connect, detail: .session(.tooManyFiles))
      if ![.waiting, .syncOK].contains(status.state) { enter(.waiting, cause: lastFailure) }
      status.nextRetry = timestamp(seconds)
      defer { status.nextRetry = nil }
      do { try await clock.sleep(seconds) } catch { throw Failure(.cancelled, stage: .connect) }
    }
  }

  /// The server was asked too often: nothing is sent for so many seconds.
  func notBefore(_ seconds: Double) -> Failure {
    Failure(.rateLimited, stage: .connect, detail: .session(.notBefore, timestamp(seconds)))
  }

  /// There is a pause, and it was not the server that asked for it.
  var mayHurry: Bool {
    guard let kept, pausing != nil else { return false }
    return pace.pause(of: kept.serverName, at: clock.now()) == nil
      && lastFailure.map { ReconnectPolicy.mayHurry(after: $0) } ?? true
  }

  /// The pause is over now, because the network has changed; unless it was the server that asked for it.
  func hurry() {
    guard mayHurry, let pausing else { return }
    isHurried = true
    due = nil
    reconnectPolicy.restart()
    pausing.cancel()
  }
}
