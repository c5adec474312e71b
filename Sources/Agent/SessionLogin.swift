import AgentProtocol
import FoundationEssentials
import XMPP
import XMPPSASL
import XMPPStanza

// Logging in, by hand and by itself, and what is stored of it.

extension Session {
  /// A login by hand: one attempt, with `timeout` 0 or `auto` as many as the failure table allows.
  func login(_ parameters: LoginMethod.Parameters) async throws(Failure) -> LoginMethod.Result {
    try await inTurn { session async throws(Failure) in
      var plan = try await session.plan(for: parameters)
      try await session.endRest()
      if let online = session.online, !plan.differs(from: online.plan) {
        return try await session.stayOnline(online, plan, showing: parameters.presence)
      }
      let waits = parameters.timeout == 0 || parameters.auto
      if !waits, !parameters.detach,
        let closed = session.pace.pause(of: plan.serverName, at: session.clock.now())
      {
        throw session.notBefore(closed)
      }
      session.attempt = 0
      session.due = nil
      session.reconnectPolicy.begin()
      session.kickPolicy.begin()
      session.tellDataReady()
      if parameters.detach, session.online == nil {
        return await session.goOn(plan, showing: parameters.presence)
      }
      let started = ContinuousClock.now
      let end = parameters.auto && parameters.timeout > 0 ? started + .seconds(parameters.bound) : nil
      if session.online == nil { session.lastFailure = nil }
      while true {
        let attempt: Attempt
        do throws(Failure) {
          try await session.pause(before: plan, within: end)
          attempt = try Attempt(parameters, since: started)
        } catch {
          await session.failed(error, plan: plan)
          throw error
        }
        do throws(Failure) {
          let success = try await session.open(plan, attempt)
          session.hub.publish(account: session.account.description, .success(success))
          guard let online = session.online else {
            throw Failure(.networkError, stage: .sync, detail: "the session ended at once")
          }
          return Self.result(success, online, already: false)
        } catch {
          plan.tokenAnswer = nil
          var failure = error
          var goesOn =
            waits && ReconnectPolicy.triesAgain(after: error) && !Task.isCancelled && session.leaving == 0
          if goesOn {
            do throws(Failure) { try session.grantRetry(plan, after: error) } catch {
              failure = error
              goesOn = false
            }
          }
          // What the agent has begun with the same credential when it started is over too.
          let isOver = failure.name == .retriesExhausted || !ReconnectPolicy.triesAgain(after: failure)
          if parameters.auto, isOver, session.online == nil { session.kept = nil }
          session.lastFailure = failure
          if goesOn { session.postpone(after: failure, plan) }
          await session.failed(failure, plan: plan)
          if goesOn { continue }
          guard parameters.auto, ReconnectPolicy.needsFreshSecret(after: failure), !Task.isCancelled,
            session.online == nil
          else { throw failure }
          guard let renewed = await session.renewed(plan, after: failure), !Task.isCancelled else {
            session.tellLoginRequired(failure)
            throw failure
          }
          plan = renewed
        }
      }
    }
  }

  /// The login goes on while nobody waits for it.
  private func goOn(_ plan: LoginPlan, showing show: PresenceShow?) async -> LoginMethod.Result {
    if let show { presence.set(.init(show: show, priority: presence.base.priority)) }
    lastFailure = nil
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
        detail: "\(reconnectPolicy.retries + 1) attempts; the last: \(failure.name.rawValue)",
        condition: failure.condition, text: failure.text)
    }
  }

  /// Takes up what was going on when the last agent ended; unless the user has logged in or out meanwhile.
  func autoLogin() async throws(Failure) {
    try await inTurn { session async throws(Failure) in
      guard let stored = try await session.accounts.entry(session.account), stored.isLogin, !session.isActive,
        // A login by hand may have come first, and be about to come back.
        session.kept == nil,
        stored.hasCredential, stored.lastState?.cause?.name != .deviceChanged
      else { return }
      var plan = try session.plan(of: stored)
      plan.checksDevice = plan.deviceToken != nil
      plan.checksLastLogin = plan.devicePolicy.check == .last
      if plan.hasUnpublishedPolicy { try plan.checkDevicePolicy() }
      plan.sendsPresence = stored.noPresence != true
      session.tellDataReady()
      session.lastFailure = nil
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
    let stored = try await accounts.entry(account)
    if parameters.auto {
      try Account.allowAuto(stored, account.description, forced: parameters.forced)
    }
    let known = online?.plan.credential ?? stored?.credential
    let given = try LoginCredential(given: parameters, stored: known)
    var credential = given ?? known ?? LoginCredential()
    if given == nil {
      // Beside a stored secret these alone may be new.
      credential.authcid = parameters.authcid ?? credential.authcid
      credential.loginExt = parameters.loginExt ?? credential.loginExt
      credential.loginExtCommand = parameters.loginExtCommand ?? credential.loginExtCommand
      let hasOther = online != nil || stored?.hasCredential == true
      guard credential.isUsable || hasOther else {
        throw Failure(
          .invalidParameter, stage: .input,
          detail: "no password is stored for \(account): give one with --password-stdin")
      }
    }
    if parameters.store == .command, credential.passwordCommand ?? credential.tokenCommand == nil {
      throw Failure(
        .invalidParameter, stage: .input,
        detail: "--store command needs --password-command or --token-command")
    }
    let isGiven = given != nil
    let usual = LoginPlan.usualPolicy(stored?.store, for: credential, isGiven: isGiven)
    var plan = try LoginPlan(
      account: account, credential: credential, isGiven: isGiven, store: parameters.store ?? usual,
      options: (stored?.options ?? ConnectionOptions()).overridden(by: parameters.options))
    plan.isStoreChosen = parameters.store != nil
    plan.tokenAnswer = parameters.tokenAnswer
    if let stored { plan.take(stored, at: Date().timeIntervalSince1970) }
    let checks = parameters.auto && !parameters.forced
    plan.checksDevice = checks && plan.deviceToken != nil
    plan.checksLastLogin = checks && plan.devicePolicy.check == .last
    plan.deviceId = plan.deviceId ?? LoginPlan.newDeviceId()
    plan.maxRetries = parameters.maxRetries ?? plan.maxRetries
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
      online.shortfall = try await accounts.loggedIn(running, presence: DesiredPresence(presence))
      self.online?.plan = running
      kept = kept == nil ? nil : running
      if plan.device != online.plan.device { Task { await announceDevice(on: online.stream) } }
    }
    if let show {
      let wanted = PresenceSetMethod.Parameters(account: nil, show: show)
      _ = try await setPresence(wanted, by: ClientHandle(id: 0))
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

extension LoginMethod.Parameters {
  /// The timeout in seconds, as far as a bound makes sense.
  fileprivate var bound: Double { min(timeout, 86_400) }
}

extension Session.Attempt {
  /// - Parameter start: when the login began: with `auto` the bound is for all attempts together.
  ///
  /// Throws `connectTimeout` when that is over.
  init(_ parameters: LoginMethod.Parameters, since start: ContinuousClock.Instant) throws(Failure) {
    let bound = parameters.timeout > 0 ? parameters.bound : nil
    if parameters.auto {
      let left = bound.map { $0 - (ContinuousClock.now - start) / .seconds(1) }
      if let left {
        guard left > 0 else {
          throw Failure(
            .connectTimeout, stage: .connect, detail: "no login within \(Failure.seconds(bound ?? 0))")
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
