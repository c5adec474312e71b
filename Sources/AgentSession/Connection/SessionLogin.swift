import AgentLogin
import AgentProtocol
import AgentStore
import FoundationEssentials
import XMPP
import XMPPClient
import XMPPSASL
import XMPPStanza

// Logins by users and automatic logins, and their storage.

extension Session {
  /// Logs in at a user's request: with one attempt, or with `timeout` 0 or `auto` with as many as the failure table
  /// allows.
  package func login(_ parameters: LoginMethod.Parameters) async throws(Failure) -> LoginMethod.Result {
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
      // The session may have ended during the verification.
      if isSame, let online = self.online {
        return try await stayOnline(online, plan, showing: parameters.presence)
      }
      if parameters.noReplace, let online = self.online { throw online.isInTheWay }
    }
    let terms = PendingLogin.Terms(parameters)
    let closed = reconnection.closed(plan)
    if !terms.isPersistent, !parameters.detach, let closed { throw reconnection.notBefore(closed) }
    reconnection.loginBegan(isOnline: online != nil)
    published.tellDataReady()
    if online == nil, parameters.detach { return goOn(plan, showing: parameters.presence) }
    let login = beginLogin(plan, terms)
    await client.replace(after: min(closed ?? 0, login.remaining ?? .infinity))
    let result = await withTaskCancellationHandler {
      await login.outcome()
    } onCancel: { [number = login.number] in
      Task { await self.giveUpLogin(number) }
    }
    return try result.get()
  }

  /// Ends all attempts, because the user was told that the login failed. This includes a login that the agent has begun
  /// by itself at its start. A session that was online before continues to reconnect after a failed login by a user.
  private func giveUp(after failure: Failure, isAutomatic: Bool) {
    guard online == nil, isAutomatic || !published.wasOnline else { return }
    reconnection.ended(by: failure)
    published.forgetDataReady()
  }

  /// Verifies with the server a secret that an online session also has. The session does not change.
  private func verify(_ plan: LoginPlan, within seconds: Double) async throws(Failure) {
    var plan = plan
    let server = try ServerStream(
      to: account.description, options: plan.options, timeout: seconds, language: language)
    try await server.authenticate(by: &plan)
  }

  /// Continues the login in the background.
  private func goOn(_ plan: LoginPlan, showing show: PresenceShow?) -> LoginMethod.Result {
    if let show { presence.want(show) }
    reconnection.activate(plan)
    return LoginMethod.Result(success: nil, already: false)
  }

  /// Restores the login that existed when the last agent ended, unless the user has logged in or out since.
  ///
  /// - Parameter isStart: Whether the agent has just started. A login that has failed since then was the user's, and
  ///   remains the last one.
  func autoLogin(isStart: Bool = false) async throws(Failure) {
    try await inTurn { session async throws(Failure) in
      guard let stored = try await session.accounts.entry(session.account), stored.isLogin, !session.isActive,
        // A login by the user may have come first, and may be about to reconnect.
        session.activePlan == nil, !isStart || session.end == nil,
        stored.hasCredential, stored.lastState?.cause?.name != .deviceChanged
      else { return }
      var plan = try session.plan(of: stored)
      plan.checksLastLogin = plan.devicePolicy.check == .last
      if plan.hasUnpublishedPolicy { try plan.checkDevicePolicy() }
      plan.sendsPresence = stored.noPresence != true
      session.published.tellDataReady()
      session.reconnection.activateAtStart(plan)
    }
  }

  /// The login plan of a stored account.
  func plan(of stored: Account) throws(Failure) -> LoginPlan {
    var plan = try LoginPlan(
      account: account, credential: stored.credential, isGiven: false, store: stored.store,
      options: stored.options)
    plan.apply(stored, at: Date().timeIntervalSince1970)
    return plan
  }

  /// The login plan from the given parameters and the stored account.
  private func plan(for parameters: LoginMethod.Parameters) async throws(Failure) -> LoginPlan {
    let file = try await accounts.inBackground { store throws(Failure) in try store.load() }
    if parameters.auto { try file.allowAuto(account.description, forced: parameters.forced) }
    let stored = file[account.description]
    let known = online?.plan.credential ?? stored?.credential
    let given = try LoginCredential(given: parameters, stored: known)
    var credential = given ?? known ?? LoginCredential()
    if given == nil {
      // With a stored secret, these parameters alone may be new.
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
    if let stored { plan.apply(stored, at: Date().timeIntervalSince1970) }
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

  /// Leaves the session as it is, except for its presence and its stored settings.
  private func stayOnline(
    _ online: OnlineSession, _ plan: LoginPlan, showing show: PresenceShow?
  ) async throws(Failure) -> LoginMethod.Result {
    var running = online.plan
    if plan.isStoreChosen { running.store = plan.store }
    running.maxRetries = plan.maxRetries
    running.device = plan.device
    running.onKick = plan.onKick
    running.onAuthFailure = plan.onAuthFailure
    if running != online.plan {
      online.stored(lacking: try await accounts.loggedIn(running, presence: presence.desired))
      changePlans { $0 = running }
      if plan.device != online.plan.device { Task { await devices.announce(on: online.stream) } }
    }
    if let show {
      let wanted = PresenceSetMethod.Parameters(account: nil, show: show)
      _ = try await presence.set(wanted)
    }
    let success = LoginSuccess(
      userId: online.bound.jid.bare.description, fullJID: online.bound.jid.description, milliseconds: 0)
    hub.publish(account: account.description, .success(success))
    return Self.result(success, online, already: true)
  }

  static func result(
    _ success: LoginSuccess, _ online: OnlineSession, already: Bool
  ) -> LoginMethod.Result {
    var result = LoginMethod.Result(success: success, already: already)
    result.mechanism = online.bound.mechanism.rawValue
    result.tls = online.bound.tls.map(TLSSummary.init)
    result.kept = online.shortfall
    result.leavesOutExtension = online.leavesOutExtension ? true : nil
    return result
  }

  // MARK: Failures

  /// Handles a failed attempt: publishes it, and clears stored data according to the failure table. A mistyped secret
  /// does not affect an online session.
  func failed(_ failure: Failure, of login: PendingLogin, comesBack: Bool = false) async {
    if failure.name == .cancelled {
      if online == nil, published.status.state != .offline { enter(.offline) }
      tellStaying()
    } else {
      // Impossible credentials, and those without a mechanism, are not even sent.
      let isLogin =
        failure.stage == .authenticate || [.logining, .loginOK, .syncing].contains(published.status.state)
      enter(isLogin ? .loginFailed : .linkFailed, cause: failure)
      tellStaying()
      if failure.name == .rateLimited { await reconnection.close(login.plan) }
      let state = online == nil ? published.status.state : nil
      await remember(failure, state: state, of: login, comesBack: comesBack)
    }
    if online == nil, activePlan == nil { published.forgetDataReady() }
  }

  /// Publishes at once that the online session continues after a failed login, since it may end at any moment.
  private func tellStaying() {
    guard let online, online.state == .syncOK, published.status.state != .syncOK else { return }
    enter(.syncOK) { $0.fullJID = published.status.fullJID }
  }

  /// Stores a failure and its consequences. If the store cannot be written, the failure is reported nevertheless.
  ///
  /// - Parameters:
  ///   - state: The resulting state of the account; nil if a session of it continues.
  ///   - comesBack: Whether the session reconnects by itself, so that nothing is cleared.
  func remember(
    _ failure: Failure, state: SessionState?, plan: LoginPlan, mechanism: SASLMechanismName? = nil,
    comesBack: Bool = false
  ) async {
    await writing {
      do throws(Failure) {
        try await accounts.failed(
          failure, state: state, account: account, plan: plan, mechanism: mechanism, comesBack: comesBack,
          lastSeen: published.lastSeen)
      } catch {
        context.report("store", error)
      }
    }
  }

  /// Stores the failure of an attempt.
  func remember(
    _ failure: Failure, state: SessionState?, of login: PendingLogin, comesBack: Bool = false
  ) async {
    await remember(
      failure, state: state, plan: login.plan, mechanism: login.attempt?.mechanism, comesBack: comesBack)
  }
}

extension OnlineSession {
  /// Why a login that must not replace a session is refused.
  fileprivate var isInTheWay: Failure {
    Failure(
      .alreadyRunning, stage: .input, detail: .session(.alreadyOnline, bound.jid))
  }
}

extension PendingLogin.Terms {
  /// - Parameter parameters: The parameters of a login by a user. With `auto`, the time limit applies to all attempts
  ///   together.
  fileprivate init(_ parameters: LoginMethod.Parameters) {
    // The time limit has a sensible maximum.
    let bound = parameters.timeout > 0 ? min(parameters.timeout, 86_400) : nil
    if parameters.auto { totalLimit = bound } else if let bound { limit = bound }
    isPersistent = parameters.auto || bound == nil
    renewsSecret = parameters.auto
    noSync = parameters.noSync
    wire = parameters.wire
    presence = parameters.presence
  }
}
