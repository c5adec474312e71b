import AgentLogin
import AgentProtocol
import AgentStore
import FoundationEssentials
import XMPP
import XMPPClient
import XMPPSASL
import XMPPStanza

// Logging in, by hand and by itself, and what is stored of it.

extension Session {
  /// A login by hand: one attempt, with `timeout` 0 or `auto` as many as the failure table allows.
  func login(_ parameters: LoginMethod.Parameters) async throws(Failure) -> LoginMethod.Result {
    try await inTurn { session async throws(Failure) in
      do throws(Failure) {
        return try await session.logIn(parameters)
      } catch {
        session.giveUp(after: error, isAutomatic: parameters.auto)
        throw error
      }
    }
  }

  private func logIn(_ parameters: LoginMethod.Parameters) async throws(Failure) -> LoginMethod.Result {
    let plan = try await plan(for: parameters)
    try await endRest()
    if let online {
      let isSame = !plan.differs(from: online.plan)
      if isSame, plan.isGiven { try await verify(plan, within: parameters.timeout) }
      // It may have ended while the server was asked.
      if isSame, let online = self.online {
        return try await stayOnline(online, plan, showing: parameters.presence)
      }
      if parameters.noReplace, let online = self.online { throw online.isInTheWay }
    }
    let waits = parameters.timeout == 0 || parameters.auto
    if !waits, !parameters.detach, let closed = pace.pause(of: plan.serverName, at: clock.now()) {
      throw notBefore(closed)
    }
    attempt = 0
    due = nil
    reconnectPolicy.begin()
    kickPolicy.begin()
    tellDataReady()
    if online == nil {
      lastFailure = nil
      end = nil
      if parameters.detach { return await goOn(plan, showing: parameters.presence) }
    }
    return try await tryToLogIn(plan, parameters, waits: waits)
  }

  /// One attempt, or as many as may help.
  private func tryToLogIn(
    _ first: LoginPlan, _ parameters: LoginMethod.Parameters, waits: Bool
  ) async throws(Failure) -> LoginMethod.Result {
    var plan = first
    let started = ContinuousClock.now
    let end = parameters.auto && parameters.timeout > 0 ? started + .seconds(parameters.bound) : nil
    while true {
      let attempt: Attempt
      do throws(Failure) {
        try await pause(before: plan, within: end)
        attempt = try Attempt(parameters, since: started, after: lastFailure)
      } catch {
        await failed(error, plan: plan)
        throw error
      }
      do throws(Failure) {
        let success = try await open(plan, attempt)
        hub.publish(account: account.description, .success(success))
        guard let online else {
          throw Failure(.networkError, stage: .sync, detail: .session(.endedAtOnce))
        }
        return Self.result(success, online, already: false)
      } catch {
        plan.tokenAnswer = nil
        var failure = error
        var goesOn = waits && ReconnectPolicy.triesAgain(after: error) && !Task.isCancelled && leaving == 0
        if goesOn {
          do throws(Failure) { try grantRetry(plan, after: error) } catch {
            failure = error
            goesOn = false
          }
        }
        lastFailure = failure
        if goesOn { postpone(after: failure, plan) }
        await failed(failure, plan: plan)
        if goesOn { continue }
        guard parameters.auto, ReconnectPolicy.needsFreshSecret(after: failure), !Task.isCancelled,
          online == nil
        else { throw failure }
        guard let renewed = await renewed(plan, after: failure), !Task.isCancelled else {
          tellLoginRequired(failure)
          throw failure
        }
        plan = renewed
      }
    }
  }

  /// The user was told that the login is over: nothing is tried any more, also where the agent has begun to log in by
  /// itself when it started. A session that was online before goes on coming back after a failed login by hand.
  private func giveUp(after failure: Failure, isAutomatic: Bool) {
    let wasOnline = status.sessions > 0 || status.resumes > 0
    guard online == nil, isAutomatic || !wasOnline else { return }
    over(failure)
    forgetDataReady()
  }

  /// Has the server check a secret that a running session has, too; the session is not touched.
  private func verify(_ plan: LoginPlan, within seconds: Double) async throws(Failure) {
    var plan = plan
    let server = try ServerStream(
      to: account.description, options: plan.options, timeout: seconds, language: language)
    try await server.authenticate(by: &plan)
  }

  /// The login goes on while nobody waits for it.
  private func goOn(_ plan: LoginPlan, showing show: PresenceShow?) async -> LoginMethod.Result {
    if let show { presence.want(show) }
    pace.join(account.description, at: plan.serverName)
    kept = plan
    return LoginMethod.Result(success: nil, already: false)
  }

  /// Throws `retriesExhausted` where the user wants no more attempts. What was tried while a token was waited for
  /// is not counted.
  func grantRetry(_ plan: LoginPlan, after failure: Failure) throws(Failure) {
    let isCounted = tried.presented.map { !$0.isFallback } ?? (failure.name != .credentialSourceFailed)
    guard reconnectPolicy.grantsRetry(limit: plan.maxRetries, isCounted: isCounted) else {
      throw Failure(
        .retriesExhausted, stage: failure.stage,
        detail: .session(.attempts, reconnectPolicy.retries + 1, failure.name.rawValue),
        condition: failure.condition, text: failure.text)
    }
  }

  /// Takes up what was going on when the last agent ended; unless the user has logged in or out meanwhile.
  ///
  /// - Parameter isStart: the agent has just started: a login that has failed since then was the user's, and stays the
  ///   last one.
  func autoLogin(isStart: Bool = false) async throws(Failure) {
    try await inTurn { session async throws(Failure) in
      guard let stored = try await session.accounts.entry(session.account), stored.isLogin, !session.isActive,
        // A login by hand may have come first, and be about to come back.
        session.kept == nil, !isStart || session.end == nil,
        stored.hasCredential, stored.lastState?.cause?.name != .deviceChanged
      else { return }
      var plan = try session.plan(of: stored)
      plan.checksLastLogin = plan.devicePolicy.check == .last
      if plan.hasUnpublishedPolicy { try plan.checkDevicePolicy() }
      plan.sendsPresence = stored.noPresence != true
      session.tellDataReady()
      session.lastFailure = nil
      session.end = nil
      var generator = SystemRandomNumberGenerator()
      let accounts = session.pace.join(session.account.description, at: plan.serverName)
      session.due = session.clock.uptime() + ReconnectPolicy.start(among: accounts, using: &generator)
      session.kept = plan
    }
  }

  /// What is stored, as it is.
  func plan(of stored: Account) throws(Failure) -> LoginPlan {
    var plan = try LoginPlan(
      account: account, credential: stored.credential, isGiven: false, store: stored.store,
      options: stored.options)
    plan.take(stored, at: Date().timeIntervalSince1970)
    return plan
  }

  /// What was given now and what is stored, together.
  private func plan(for parameters: LoginMethod.Parameters) async throws(Failure) -> LoginPlan {
    let file = try await accounts.inBackground { store throws(Failure) in try store.load() }
    if parameters.auto { try file.allowAuto(account.description, forced: parameters.forced) }
    let stored = file[account.description]
    let known = online?.plan.credential ?? stored?.credential
    let given = try LoginCredential(given: parameters, stored: known)
    var credential = given ?? known ?? LoginCredential()
    if given == nil {
      // Beside a stored secret these alone may be new.
      credential.authcid = parameters.authcid.map { $0.isEmpty ? nil : $0 } ?? credential.authcid
      credential.loginExt = parameters.loginExt ?? credential.loginExt
      credential.loginExtCommand = parameters.loginExtCommand ?? credential.loginExtCommand
      let hasOther = online != nil || stored?.hasCredential == true
      guard credential.isUsable || hasOther else {
        throw Failure(
          .invalidParameter, stage: .input,
          detail: .login(.noPasswordStored, account))
      }
    }
    if parameters.store == .command, credential.passwordCommand ?? credential.tokenCommand == nil {
      throw Failure(
        .invalidParameter, stage: .input,
        detail: .login(.policyNeedsCommand))
    }
    let isGiven = given != nil
    let usual = LoginPlan.usualPolicy(stored?.store, for: credential, isGiven: isGiven)
    var plan = try LoginPlan(
      account: account, credential: credential, isGiven: isGiven, store: parameters.store ?? usual,
      options: (stored?.options ?? ConnectionOptions()).overridden(by: parameters.options))
    plan.isStoreChosen = parameters.store != nil
    plan.tokenAnswer = parameters.tokenAnswer
    if let stored { plan.take(stored, at: Date().timeIntervalSince1970) }
    plan.checksLastLogin = parameters.auto && !parameters.forced
    plan.deviceId = plan.deviceId ?? LoginPlan.newDeviceId()
    if let limit = parameters.maxRetries {
      plan.maxRetries = limit == LoginMethod.unlimitedRetries ? nil : limit
    }
    plan.device = parameters.device.map(plan.device.overridden) ?? plan.device
    if plan.hasUnpublishedPolicy { try plan.checkDevicePolicy() }
    plan.onKick = parameters.onKick ?? plan.onKick
    if let command = parameters.onAuthFailure { plan.onAuthFailure = command.isEmpty ? nil : command }
    plan.sendsPresence = !parameters.noPresence
    return plan
  }

  /// Nothing is to be done, but for what is to be shown or stored from now on.
  private func stayOnline(
    _ online: Online, _ plan: LoginPlan, showing show: PresenceShow?
  ) async throws(Failure) -> LoginMethod.Result {
    var running = online.plan
    if plan.isStoreChosen { running.store = plan.store }
    running.maxRetries = plan.maxRetries
    running.device = plan.device
    running.onKick = plan.onKick
    running.onAuthFailure = plan.onAuthFailure
    if running != online.plan {
      online.shortfall = try await accounts.loggedIn(running, presence: presence.desired)
      self.online?.plan = running
      kept = kept == nil ? nil : running
      if plan.device != online.plan.device { Task { await devices.announce(on: online.stream) } }
    }
    if let show {
      let wanted = PresenceSetMethod.Parameters(account: nil, show: show)
      _ = try await presence.set(wanted, by: ClientHandle(id: 0))
    }
    let success = LoginSuccess(
      userId: online.bound.jid.bare.description, fullJID: online.bound.jid.description, milliseconds: 0)
    hub.publish(account: account.description, .success(success))
    return Self.result(success, online, already: true)
  }

  private static func result(
    _ success: LoginSuccess, _ online: Online, already: Bool
  ) -> LoginMethod.Result {
    var result = LoginMethod.Result(success: success, already: already)
    result.mechanism = online.bound.mechanism.rawValue
    result.tls = online.bound.tls.map(TLSSummary.init)
    result.kept = online.shortfall
    result.leavesOutExtension = online.leavesOutExtension ? true : nil
    return result
  }

  // MARK: Failures

  /// An attempt failed: says so, and clears what the table says. A mistyped secret leaves a running session alone.
  func failed(_ failure: Failure, plan: LoginPlan, comesBack: Bool = false) async {
    if failure.name == .cancelled {
      if online == nil, status.state != .offline { enter(.offline) }
      tellStaying()
    } else {
      // What cannot be right, or has no mechanism, is not even sent.
      let isLogin =
        failure.stage == .authenticate || [.logining, .loginOK, .syncing].contains(status.state)
      enter(isLogin ? .loginFailed : .linkFailed, cause: failure)
      tellStaying()
      if failure.name == .rateLimited {
        await pace.close(plan.serverName, until: clock.now() + ReconnectPolicy.afterRateLimit)
      }
      await remember(failure, state: online == nil ? status.state : nil, plan: plan, comesBack: comesBack)
    }
    if online == nil, kept == nil { forgetDataReady() }
  }

  /// The running session goes on, beside which a login has failed. At once: it may end at any moment.
  private func tellStaying() {
    if online?.state == .syncOK, status.state != .syncOK { enter(.syncOK) { $0.fullJID = status.fullJID } }
  }

  /// Leaves a failure and its consequences in the store. A store that cannot be written does not hide the failure.
  ///
  /// - Parameters:
  ///   - state: the state the account is left in; nil where a session of it goes on.
  ///   - comesBack: the session comes back by itself: nothing is cleared.
  func remember(
    _ failure: Failure, state: SessionState?, plan: LoginPlan?, comesBack: Bool = false
  ) async {
    await writing {
      do throws(Failure) {
        try await accounts.failed(
          failure, state: state, account: account, plan: plan, mechanism: tried.mechanism,
          comesBack: comesBack,
          lastSeen: lastSeen)
      } catch {
        log.error("store", metadata: ["account": "\(account)", "failure": "\(error.message)"])
      }
    }
  }
}

extension Session.Online {
  /// Why a login that is to replace nothing is not made.
  fileprivate var isInTheWay: Failure {
    Failure(
      .alreadyRunning, stage: .input, detail: .session(.alreadyOnline, bound.jid))
  }
}

extension LoginMethod.Parameters {
  /// The timeout in seconds, as far as a bound makes sense.
  fileprivate var bound: Double { min(timeout, 86_400) }
}

extension Session.Attempt {
  /// - Parameter start: when the login began: with `auto` the bound is for all attempts together.
  ///
  /// Throws `connectTimeout` when that is over, with what the last attempt failed with.
  init(
    _ parameters: LoginMethod.Parameters, since start: ContinuousClock.Instant, after last: Failure? = nil
  ) throws(Failure) {
    let bound = parameters.timeout > 0 ? parameters.bound : nil
    if parameters.auto {
      let left = bound.map { $0 - (ContinuousClock.now - start) / .seconds(1) }
      if let left {
        guard left > 0 else {
          let time = FailureDetail.seconds(bound ?? 0)
          throw Failure(
            .connectTimeout, stage: last?.stage ?? .connect,
            detail: last.map { .session(.noLoginAfter, time, FailureDetail.failure($0)) }
              ?? .session(.noLogin, time))
        }
        limit = min(limit, left)
      }
    } else if let bound {
      limit = bound
    }
    noSync = parameters.noSync
    wire = parameters.wire
    presence = parameters.presence
  }

  /// The attempt of a session that comes back by itself.
  static var automatic: Self {
    var attempt = Self()
    attempt.isAutomatic = true
    attempt.limit = SessionPatience.standard.attempt
    return attempt
  }

  /// Seconds that are left of the bound.
  var remaining: Double { max(0.1, limit - (ContinuousClock.now - started) / .seconds(1)) }
}
