import AgentProtocol
import XMPP
import XMPPSASL
import XMPPStanza

// Logging in, by hand and by itself, and what is stored of it.

extension Session {
  /// A login by hand: one attempt, with `timeout` 0 as many as the failure table allows.
  func login(_ parameters: LoginMethod.Parameters) async throws(Failure) -> LoginMethod.Result {
    try await inTurn { session async throws(Failure) in
      let plan = try await session.plan(for: parameters)
      if let online = session.online, !plan.differs(from: online.plan) {
        return try await session.stayOnline(online, plan, showing: parameters.presence)
      }
      session.attempt = 0
      session.tellDataReady()
      while true {
        do throws(Failure) {
          let success = try await session.open(plan, Attempt(parameters))
          session.hub.publish(account: session.account.description, .success(success))
          guard let online = session.online else {
            throw Failure(.networkError, stage: .sync, detail: "the session ended at once")
          }
          return Self.result(success, online.bound, already: false)
        } catch {
          session.lastFailure = error
          await session.failed(error, plan: plan)
          guard parameters.timeout == 0, ReconnectPolicy.triesAgain(after: error),
            !Task.isCancelled, session.leaving == 0
          else { throw error }
          do throws(Failure) { try await session.pause(after: error) } catch {
            await session.failed(error, plan: plan)
            throw error
          }
        }
      }
    }
  }

  /// Takes up what was going on when the last agent ended; unless the user has logged in or out meanwhile.
  func autoLogin() async throws(Failure) {
    try await inTurn { session async throws(Failure) in
      guard let stored = try await session.accounts.entry(session.account), stored.isLogin, !session.isActive,
        let secret = try await stored.secret()
      else { return }
      var plan = try LoginPlan(
        account: session.account, password: secret, isGiven: false, passwordCommand: stored.passwordCommand,
        store: stored.store, options: stored.options)
      plan.server = stored.server
      plan.sendsPresence = stored.noPresence != true
      session.tellDataReady()
      session.lastFailure = nil
      session.kept = plan
    }
  }

  /// What was given now and what is stored, together.
  private func plan(for parameters: LoginMethod.Parameters) async throws(Failure) -> LoginPlan {
    let stored = try await accounts.entry(account)
    let options = (stored?.options ?? ConnectionOptions()).overridden(by: parameters.options)
    var password = parameters.password.map { Secret($0) }
    var command = parameters.passwordCommand
    if password == nil {
      command = stored?.passwordCommand
      password = try await stored?.secret() ?? online?.plan.password
    }
    guard let password else {
      throw Failure(
        .invalidParameter, stage: .input,
        detail: "no password is stored for \(account): give one with --password-stdin")
    }
    if parameters.store == .command, command == nil {
      throw Failure(.invalidParameter, stage: .input, detail: "--store command needs --password-command")
    }
    let isGiven = parameters.password != nil
    var plan = try LoginPlan(
      account: account, password: password, isGiven: isGiven, passwordCommand: command,
      store: parameters.store ?? (isGiven ? command == nil ? .password : .command : stored?.store),
      options: options)
    plan.isStoreChosen = parameters.store != nil
    plan.server = stored?.server
    plan.sendsPresence = !parameters.noPresence
    return plan
  }

  /// Nothing is to be done, but for what is to be shown or stored from now on.
  private func stayOnline(
    _ online: Online, _ plan: LoginPlan, showing show: PresenceShow?
  ) async throws(Failure) -> LoginMethod.Result {
    if plan.isStoreChosen {
      try await accounts.loggedIn(plan, presence: DesiredPresence(presence))
      self.online?.plan.store = plan.store
    }
    if let show {
      let wanted = PresenceSetMethod.Parameters(account: nil, show: show)
      _ = try await setPresence(wanted, by: ClientHandle(id: 0))
    }
    let success = LoginSuccess(
      userId: account.description, fullJID: online.bound.jid.description, milliseconds: 0)
    hub.publish(account: account.description, .success(success))
    return Self.result(success, online.bound, already: true)
  }

  private static func result(
    _ success: LoginSuccess, _ bound: BoundStream, already: Bool
  ) -> LoginMethod.Result {
    var result = LoginMethod.Result(success: success, already: already)
    result.mechanism = bound.mechanism.rawValue
    result.tls = bound.tls.map(TLSSummary.init)
    return result
  }

  // MARK: Failures

  /// An attempt failed: says so, and clears what the table says. A mistyped secret leaves a running session alone.
  func failed(_ failure: Failure, plan: LoginPlan) async {
    if failure.name == .cancelled {
      if online == nil, status.state != .offline { enter(.offline) }
    } else {
      let isLogin = [.logining, .loginOK, .syncing].contains(status.state)
      enter(isLogin ? .loginFailed : .linkFailed, cause: failure)
      await remember(failure, state: online == nil ? status.state : nil, plan: plan)
    }
    if online == nil, kept == nil { forgetDataReady() }
    if online != nil, status.state != .syncOK { enter(.syncOK) { $0.fullJID = status.fullJID } }
  }

  /// Leaves a failure and its consequences in the store. A store that cannot be written does not hide the failure.
  ///
  /// - Parameter state: the state the account is left in; nil where a session of it goes on.
  func remember(_ failure: Failure, state: SessionState?, plan: LoginPlan?) async {
    do throws(Failure) {
      try await accounts.failed(failure, state: state, account: account, plan: plan)
    } catch {
      log.error("store", metadata: ["account": "\(account)", "failure": "\(error.message)"])
    }
  }
}

extension Session.Attempt {
  init(_ parameters: LoginMethod.Parameters) {
    if parameters.timeout > 0 { limit = min(parameters.timeout, 86_400) }
    noSync = parameters.noSync
    wire = parameters.wire
    presence = parameters.presence
  }

  /// The attempt of a session that comes back by itself.
  static var automatic: Self {
    var attempt = Self()
    attempt.isAutomatic = true
    return attempt
  }

  /// Seconds that are left of the bound.
  var remaining: Double { max(0.1, limit - (ContinuousClock.now - started) / .seconds(1)) }
}
