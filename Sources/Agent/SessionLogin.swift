import AgentProtocol
import NIOCore
import XMPP
import XMPPFeatures
import XMPPSASL
import XMPPStanza
import XMPPTransport
import XMPPXML

// Going online: one attempt, its steps as states, and what is stored after it.

extension Session {
  /// A login by hand: one attempt, with `timeout` 0 as many as the failure table allows.
  func login(_ parameters: LoginMethod.Parameters) async throws(Failure) -> LoginMethod.Result {
    try await inTurn { session async throws(Failure) in try await session.loginInTurn(parameters) }
  }

  private func loginInTurn(_ parameters: LoginMethod.Parameters) async throws(Failure) -> LoginMethod.Result {
    let plan = try await plan(for: parameters)
    await stopReconnecting()
    if let online, !differs(plan, from: online.plan) {
      if let show = parameters.presence {
        var wanted = PresenceSetMethod.Parameters(account: nil, show: show)
        wanted.priority = presence.base.priority
        _ = try await setPresence(wanted, by: ClientHandle(id: 0))
      }
      let result = result(of: online.bound, milliseconds: 0, already: true)
      hub.publish(account: account.description, .success(result.success))
      return result
    }
    attempt = 0
    tellDataReady()
    while true {
      do throws(Failure) {
        let success = try await open(plan, parameters)
        hub.publish(account: account.description, .success(success))
        guard let online else {
          throw Failure(.networkError, stage: .sync, detail: "the session ended at once")
        }
        return result(of: online.bound, milliseconds: success.milliseconds, already: false)
      } catch {
        await failed(error, plan: plan)
        if let lost = interrupted {
          interrupted = nil
          reconnect(lost, after: error)
        }
        guard parameters.timeout == 0, !Task.isCancelled,
          FailureTable[error.name]?.retry.retries(automatic: false) == true
        else { throw error }
        try await pause(after: error)
      }
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
    var plan = try LoginPlan(
      account: account, password: password, isGiven: parameters.password != nil, passwordCommand: command,
      store: parameters.store, options: options)
    plan.server = stored?.server
    return plan
  }

  private func differs(_ plan: LoginPlan, from running: LoginPlan) -> Bool {
    plan.password != running.password || plan.options != running.options
  }

  private func result(of bound: BoundStream, milliseconds: Int, already: Bool) -> LoginMethod.Result {
    let success = LoginSuccess(
      userId: account.description, fullJID: bound.jid.description, milliseconds: milliseconds)
    var result = LoginMethod.Result(success: success, already: already)
    result.mechanism = bound.mechanism.rawValue
    result.tls = bound.tls.map(TLSSummary.init)
    return result
  }

  // MARK: One attempt

  /// Opens a stream and returns when it is synced (or bound, with `noSync`). A server that did not like to be
  /// answered before it asked is asked again step by step.
  func open(_ plan: LoginPlan, _ parameters: LoginMethod.Parameters) async throws(Failure) -> LoginSuccess {
    do throws(Failure) {
      return try await openOnce(plan, parameters)
    } catch {
      guard let server = plan.server, !server.isStepByStep, !Task.isCancelled,
        KnownServer.mayDislikeAnticipation(error)
      else { throw error }
      log.info("once more, step by step", metadata: ["account": "\(account)"])
      var plan = plan
      plan.server?.isStepByStep = true
      return try await openOnce(plan, parameters)
    }
  }

  private func openOnce(
    _ plan: LoginPlan, _ parameters: LoginMethod.Parameters
  ) async throws(Failure) -> LoginSuccess {
    let seconds = parameters.timeout > 0 ? min(parameters.timeout, 86_400) : 30
    var configuration = plan.configuration(
      timeout: .nanoseconds(Int64(seconds * 1e9)), language: language)
    if parameters.wire {
      configuration.wireLog = { [hub, account] direction, xml in
        hub.publish(
          account: account.description, .wire(WireLine(direction: direction.rawValue, xml: xml)))
      }
    }
    let replaced = online?.stream
    if let replaced {
      let farewell = farewell
      configuration.beforeBinding = { await replaced.close(sending: farewell) }
    }
    let stream = XMPPStream(configuration)
    opening = Opening(stream: stream, plan: plan, parameters: parameters, started: .now)
    Task { for await event in stream.events { await self.handle(event, of: stream) } }
    Task { _ = try? await stream.connect() }
    let limit = Task {
      try await Task.sleep(for: .seconds(seconds))
      await self.expire(stream, after: seconds)
    }
    defer { limit.cancel() }
    let result: Result<LoginSuccess, Failure> = await withTaskCancellationHandler {
      await withCheckedContinuation { waiter in
        guard opening?.stream === stream else {
          return waiter.resume(returning: .failure(Failure(.cancelled, stage: .connect)))
        }
        opening?.waiter = waiter
      }
    } onCancel: {
      Task { await stream.close() }
    }
    return try result.get()
  }

  /// What a session says before it ends: nothing where it has not shown itself.
  var farewell: [XMLElement] {
    guard let online else { return [] }
    let isAvailable = online.sendsPresence && presence.effective.show != .offline
    return isAvailable || online.hasDirectedPresence ? [Presence(type: .unavailable).element] : []
  }

  private func expire(_ stream: XMPPStream, after seconds: Double) async {
    guard opening?.stream === stream, !Task.isCancelled else { return }
    endOpening(
      .failure(Failure(.connectTimeout, stage: .sync, detail: "no answer within \(seconds) s")))
    if online?.stream === stream { online = nil }
    await stream.close()
  }

  private func endOpening(_ result: Result<LoginSuccess, Failure>) {
    opening?.waiter?.resume(returning: result)
    opening = nil
  }

  // MARK: Events of a stream

  private func handle(_ event: StreamEvent, of stream: XMPPStream) async {
    switch event {
    case .step(let step): if opening?.stream === stream { await handle(step) }
    case .presence(let presence): if online?.stream === stream { publish(presence) }
    case .message: break
    case .closed(let error): await ended(stream, error)
    }
  }

  private func handle(_ step: LoginStep) async {
    switch step {
    case .linking(let target):
      attempt += 1
      enter(.linking) {
        $0.host = target.host
        $0.port = target.port
        $0.attempt = attempt
      }
    case .linkOK(let tls, let mechanisms):
      opening?.offered = mechanisms
      enter(.linkOK) { $0.tls = tls.map(TLSSummary.init) }
    case .logining(let mechanism): enter(.logining) { $0.mechanism = mechanism.rawValue }
    case .loginOK(let bound): await bind(bound)
    }
  }

  private func bind(_ bound: BoundStream) async {
    guard var opening else { return }
    opening.plan.server = KnownServer(
      bound, offered: opening.offered, isStepByStep: opening.plan.server?.isStepByStep ?? false)
    online = Online(stream: opening.stream, bound: bound, plan: opening.plan, sendsPresence: false)
    status.sessions += 1
    enter(.loginOK) {
      $0.fullJID = bound.jid.description
      $0.resumed = false
      $0.mechanism = bound.mechanism.rawValue
      $0.tls = bound.tls.map(TLSSummary.init)
      $0.roundTrips = bound.roundTrips
      $0.host = bound.target.host
      $0.port = bound.target.port
    }
    if let show = opening.parameters.presence {
      presence.set(.init(show: show, priority: presence.base.priority))
    }
    do {
      try await accounts.loggedIn(
        opening.plan, presence: DesiredPresence(presence))
    } catch {
      self.online = nil
      endOpening(.failure(error))
      await opening.stream.close()
      return
    }
    // Away from the stream's events, which must go on arriving meanwhile.
    Task { await self.synchronise(opening.stream) }
    if opening.parameters.noSync { succeed(opening) }
  }

  /// Roster request and presence in one write (RFC 6121 §2.2, §4.2); what the server lacks is no error.
  private func synchronise(_ stream: XMPPStream) async {
    guard online?.stream === stream else { return }
    enter(.syncing)
    let sendsPresence = opening?.parameters.noPresence != true && presence.effective.show != .offline
    online?.sendsPresence = opening?.parameters.noPresence != true
    let companions = sendsPresence ? [presence.effective.stanza()] : []
    do {
      _ = try await stream.request(Roster.request(), followedBy: companions)
    } catch {
      // The stream's end is an event of its own; a server that does not answer has no roster.
    }
    guard online?.stream === stream else { return }
    reconnectPolicy.succeeded()
    attempt = 0
    enter(.syncOK) { $0.fullJID = online?.bound.jid.description }
    if let opening, opening.stream === stream { succeed(opening) }
  }

  private func succeed(_ opening: Opening) {
    guard let bound = online?.bound else { return }
    let spent = (ContinuousClock.now - opening.started).components
    let milliseconds = Int(spent.seconds) * 1000 + Int(spent.attoseconds / 1_000_000_000_000_000)
    let success = LoginSuccess(
      userId: account.description, fullJID: bound.jid.description, milliseconds: milliseconds)
    reconnecting = nil
    interrupted = nil
    endOpening(.success(success))
  }

  private func publish(_ presence: Presence) {
    guard let from = presence.from, presence.type == nil || presence.type == .unavailable else { return }
    let show: PresenceShow =
      presence.type == .unavailable
      ? .offline : presence.show.flatMap { PresenceShow(rawValue: $0.rawValue) } ?? .online
    hub.publish(
      account: account.description,
      .presence(
        PresenceChange(
          from: from.description, show: show, status: presence.status, priority: Int(presence.priority))))
  }

  // MARK: Ends and failures

  private func ended(_ stream: XMPPStream, _ error: XMPPError?) async {
    let failure = error.map(Failure.init)
    if opening?.stream === stream {
      if online?.stream === stream { online = nil }
      endOpening(.failure(failure ?? Failure(.cancelled, stage: .connect)))
    } else if online?.stream === stream {
      let plan = online?.plan
      online = nil
      if let failure { await lost(failure, plan: plan) }
    }
  }

  /// An attempt failed: says so, and clears what the table says.
  func failed(_ failure: Failure, plan: LoginPlan) async {
    let isLogin = status.state == .logining || status.state == .loginOK || status.state == .syncing
    enter(isLogin ? .loginFailed : .linkFailed, cause: failure)
    await remember(failure, plan: plan)
    // A mistyped secret leaves a running session alone.
    if online != nil { enter(.syncOK) { $0.fullJID = online?.bound.jid.description } }
  }
}

extension Session {
  /// Leaves the failure and its consequences in the store. A store that cannot be written does not hide the failure,
  /// and a session that goes on has not ended with it.
  func remember(_ failure: Failure, plan: LoginPlan?) async {
    do {
      try await accounts.failed(
        failure, state: online == nil ? status.state : nil, account: account, plan: plan)
    } catch {
      log.error("store", metadata: ["account": "\(account)", "failure": "\(error.message)"])
    }
  }
}

extension TLSSummary {
  init(_ info: TLSInfo) { self.init(version: info.version, cipher: info.cipher) }
}

extension SessionStatus.Server {
  init(_ bound: BoundStream) {
    self.init()
    host = bound.target.host
    port = bound.target.port
    tls = bound.tls.map(TLSSummary.init)
    mechanism = bound.mechanism.rawValue
  }
}

extension ConnectionOptions {
  /// These options with the given ones of `other` in their place.
  func overridden(by other: ConnectionOptions) -> ConnectionOptions {
    var options = self
    options.host = other.host ?? host
    options.port = other.port ?? port
    options.tls = other.tls ?? tls
    options.caFile = other.caFile ?? caFile
    options.certSHA256 = other.certSHA256 ?? certSHA256
    options.resource = other.resource ?? resource
    return options
  }
}
