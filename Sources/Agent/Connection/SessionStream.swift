import AgentLogin
import AgentProtocol
import FoundationEssentials
import NIOCore
import XMPP
import XMPPFeatures
import XMPPSASL
import XMPPStanza
import XMPPTransport

// One stream of a session, from the first step to its end.

extension Session {
  /// Opens a stream and returns when it is synced (or bound, with `noSync`). Where the server refused what was
  /// presented, or did not like to be answered before it asked, something else may help at once: each at most once.
  func open(_ plan: LoginPlan, _ attempt: Attempt) async throws(Failure) -> LoginSuccess {
    var plan = plan
    var attempt = attempt
    while true {
      let leavesOut = hasExceededLimits
      let isManaged = managesStream
      do throws(Failure) {
        return try await openOnce(plan, attempt)
      } catch {
        guard !Task.isCancelled, leaving == 0 else { throw error }
        if error.name == .protocolError, hasExceededLimits, !leavesOut {
          log.info("once more, leaving out what is too much", metadata: ["account": "\(account)"])
          continue
        }
        if isManaged, !managesStream {
          log.info("once more, without acknowledgements", metadata: ["account": "\(account)"])
          continue
        }
        if tried.isAddressGone, error.name == .cancelled, !isEnding {
          tried.isAddressGone = false
          log.info("once more, from another address", metadata: ["account": "\(account)"])
          if attempt.isAutomatic { attempt.started = .now }
          continue
        }
        if tried.isReplacedByOwn {
          tried.isReplacedByOwn = false
          log.info("once more, after an earlier attempt", metadata: ["account": "\(account)"])
          continue
        }
        // A server that cannot go on with the session has perhaps a new one.
        if error.name == .protocolError, tried.isResuming, !tried.isElsewhere {
          resumable?.end()
          continue
        }
        if tried.objection == .possible, !plan.isStepByStep { await keepObjection(to: plan) }
        if tried.objection == .stated, !plan.isStepByStep, !attempt.isStepByStep {
          log.info("once more, step by step", metadata: ["account": "\(account)"])
          plan.objections = tried.objection.rawValue
          attempt.isStepByStep = true
          continue
        }
        guard
          plan.reconsider(
            after: error, of: tried.mechanism, offered: tried.offered, presented: tried.presented)
        else { throw error }
        log.info(
          "once more, otherwise", metadata: ["account": "\(account)", "after": "\(error.name.rawValue)"])
        if tried.mechanism?.isDeviceToken == true { await remember(error, state: nil, plan: plan) }
      }
    }
  }

  private func openOnce(_ plan: LoginPlan, _ attempt: Attempt) async throws(Failure) -> LoginSuccess {
    guard !isEnding, opening == nil else { throw Failure(.cancelled, stage: .connect) }
    tried = Tried()
    await restoreMessages()
    await restoreContacts()
    let presented = try await present(plan, attempt)
    tried.presented = presented
    guard !isEnding, opening == nil, !Task.isCancelled else { throw Failure(.cancelled, stage: .connect) }
    do throws(Failure) {
      return try await openResuming(plan, presented, attempt)
    } catch {
      if tried.isResuming, error.stage == .bind {
        failedResumptions += 1
        if failedResumptions > 2 { resumable?.end() }
      }
      throw plan.interpret(
        error, of: tried.mechanism, offered: tried.offered, presented: presented,
        at: Date().timeIntervalSince1970)
    }
  }

  /// Some servers fail a handshake that offers to resume a session, instead of making it a full one.
  private func openResuming(
    _ plan: LoginPlan, _ presented: Presented, _ attempt: Attempt
  ) async throws(Failure) -> LoginSuccess {
    let offersSession = tlsSession != nil && otherHost == nil
    do throws(Failure) {
      return try await openStream(plan, presented, attempt)
    } catch {
      guard error.name == .tlsFailure, offersSession, !Task.isCancelled else { throw error }
      let success = try await openStream(plan, presented, attempt)
      refusesTLSSessions = true
      return success
    }
  }

  private func openStream(
    _ plan: LoginPlan, _ presented: Presented, _ attempt: Attempt
  ) async throws(Failure) -> LoginSuccess {
    let stream = XMPPStream(configuration(plan, presented, attempt))
    opening = Opening(stream, plan, attempt)
    // A task keeps the memory of its deepest call until it ends: what is handled has one of its own.
    Task {
      while let event = await stream.next() { await Task { await self.handle(event, of: stream) }.value }
    }
    Task { _ = try? await stream.connect() }
    let limit = Task {
      try await Task.sleep(for: .seconds(attempt.remaining))
      await self.expire(stream, after: attempt.limit)
    }
    defer { limit.cancel() }
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { (waiter: CheckedContinuation<Result<LoginSuccess, Failure>, Never>) in
        opening?.waiter = waiter
      }
    } onCancel: {
      Task { await self.giveUp(stream) }
    }
    return try result.get()
  }

  /// What the next stream goes on with, if the server can be thought to have it still.
  private func resumable(for plan: LoginPlan) -> StreamManagement? {
    guard var resumable else { return nil }
    let isLate = resumableUntil.map { $0 < .now } ?? false
    let isElsewhere = plan.options.resource.map { $0 != resumable.jid.resource } ?? false
    if isLate || isElsewhere { resumable.end() }
    return resumable
  }

  /// A stream has ended without our doing: the next one may go on with its session.
  private func leave(_ management: StreamManagement?) {
    resumable = management
    resumableUntil = management?.maximum.map { .now + .seconds($0) }
  }

  private func configuration(
    _ plan: LoginPlan, _ presented: Presented, _ attempt: Attempt
  ) -> StreamConfiguration {
    var configuration = plan.configuration(
      presenting: presented, timeout: .nanoseconds(Int64(attempt.remaining * 1e9)), language: language)
    if attempt.isStepByStep { configuration.anticipation = .stepByStep }
    configuration.confirmsStanzas = true
    configuration.managesStream = managesStream
    configuration.resendsMessages = false
    configuration.keepAlive = patience.keepAlive
    configuration.acknowledgementTimeout = min(patience.keepAlive, .seconds(20))
    configuration.enablesCarbons = true
    configuration.responders = traffic.refusals.counting(.push, in: configuration.responders)
    configuration.onUnanswered = { [refusals = traffic.refusals] in refusals.add(.request) }
    configuration.responders.merge(ClientIdentity.responders(for: audience)) { $1 }
    configuration.otherHost = otherHost
    otherHost = nil
    if online == nil, let resumable = resumable(for: plan) {
      configuration.resuming = resumable
      tried.isResuming = resumable.canResume
    }
    // The first one ends the stream, as a server's attack should; one that comes again is somebody else's.
    if hasExceededLimits { configuration.limits.maximumExcessTokenBytes = 1 << 20 }
    if !refusesTLSSessions {
      if configuration.otherHost == nil {
        configuration.tlsSession = tlsSession
        tlsSession = nil
      }
      configuration.onTLSSession = { session in Task { await self.keep(session) } }
    }
    if attempt.wire {
      configuration.wireLog = { [hub, account] direction, xml in
        hub.publish(account: account.description, .wire(WireLine(direction: direction.rawValue, xml: xml)))
      }
    }
    if let replaced = online?.stream {
      let farewell = farewell
      configuration.beforeBinding = { await replaced.close(sending: farewell) }
    }
    return configuration
  }

  private func keep(_ session: TLSSession) { tlsSession = session }

  /// Nobody waits for this stream any more.
  func giveUp(_ stream: XMPPStream, patience: TimeAmount = .seconds(2)) async {
    guard opening?.stream === stream else { return }
    let farewell = online?.stream === stream ? farewell : []
    await stream.close(sending: farewell, patience: patience)
  }

  /// Until a resource is bound the stream keeps to the bound by itself, and says how far it came.
  private func expire(_ stream: XMPPStream, after seconds: Double) async {
    guard opening?.stream === stream, online?.stream === stream else { return }
    let farewell = farewell
    endOnline(.loginFailed)
    endOpening(
      .failure(Failure(.connectTimeout, stage: .sync, detail: "no answer within \(Failure.seconds(seconds))"))
    )
    await stream.close(sending: farewell)
  }

  func endOpening(_ result: Result<LoginSuccess, Failure>) {
    let waiter = opening?.waiter
    opening = nil
    waiter?.resume(returning: result)
  }

  /// The stream that was online is so no more; which, and with what plan.
  ///
  /// - Parameter next: the state that will be told of, and is the one until then.
  @discardableResult
  func endOnline(_ next: SessionState) -> Online? {
    stateToTell = next
    suspendOutbox()
    online?.partsWait?.end()
    online?.greeting.end()
    defer { online = nil }
    return online
  }

  // MARK: Events of a stream

  private func handle(_ event: StreamEvent, of stream: XMPPStream) async {
    switch event {
    case .step(let step): if opening?.stream === stream { await handle(step) }
    case .presence(let presence):
      if online?.stream === stream {
        await tell(presence, on: stream)
        await takeDevice(presence)
        await received(.presence(presence))
      }
    case .request(let push):
      let more = await stream.nextRequests(ContactTraffic.maximumTogether - 1)
      if online?.stream === stream { await received(pushes: [push] + more) }
    case .marked(Self.begun): if online?.stream === stream { await received(.begun) }
    case .marked: break
    case .message(let message):
      if online?.stream === stream {
        await takeDevice(message)
        await received(message)
        if let event = PubSub.Event(message, own: account.bare) { await take(event) }
      }
    case .answer: break
    case .received(let count): if online?.stream === stream { await received(through: count, on: stream) }
    case .leftOut(let stanza, let excess, let octets):
      if online?.stream === stream { await leftOut(stanza, excess, octets) }
    case .acknowledged(let stanzas): acknowledged(stanzas, by: stream)
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
    case .linkOK(let tls, let offer):
      opening?.offer = offer
      tried.offered = offer.sasl.mechanisms
      enter(.linkOK) { $0.tls = tls.map(TLSSummary.init) }
    case .logining(let mechanism):
      tried.mechanism = mechanism
      // With a refused token the same stream goes on with what else there is.
      if status.state != .logining { enter(.logining) { $0.mechanism = mechanism.rawValue } }
    case .loginOK(let bound): await bind(bound)
    }
  }

  private func bind(_ bound: BoundStream) async {
    guard let opening else { return }
    var plan = opening.plan
    plan.succeeded(bound, presenting: tried.presented, offer: opening.offer)
    if let show = opening.attempt.presence {
      presence.set(.init(show: show))
    }
    endOnline(.loginOK)
    resumable = nil
    failedResumptions = 0
    online = Online(opening.stream, bound, plan)
    online?.began = clock.uptime()
    if !bound.isResumed {
      onlineSince = timestamp()
      audience.forgetDirected()
      devices.begin()
    }
    online?.leavesOutExtension = plan.leavesOutExtension(of: tried.presented, in: bound)
    beginMessages(bound, on: opening.stream)
    let isWanted = !opening.attempt.isAutomatic || status.sessions == 0
    online?.isLogin = isWanted && !bound.isResumed
    let before = plan.lastLogin
    if isWanted || before == nil { plan.lastLogin = timestamp() }
    online?.lastLogin = isWanted ? plan.lastLogin : nil
    if bound.isResumed { status.resumes += 1 } else { status.sessions += 1 }
    enter(.loginOK) {
      $0.fullJID = bound.jid.description
      $0.resumed = bound.isResumed
      $0.mechanism = bound.mechanism.rawValue
      $0.tls = bound.tls.map(TLSSummary.init)
      $0.roundTrips = bound.roundTrips
      $0.host = bound.target.host
      $0.port = bound.target.port
    }
    // What is stored is that of the last login: there is none before it is known to be allowed.
    plan.checksLastLogin = plan.checksLastLogin && !bound.isResumed
    if !plan.checksLastLogin, await !keepLogin(plan, opening) { return }
    plan.isGiven = false
    online?.plan = plan
    // Away from the stream's events, which must go on arriving meanwhile.
    Task {
      if plan.checksLastLogin, await !self.checkLastLogin(since: before, opening) { return }
      await self.synchronise(opening.stream)
    }
    if opening.attempt.noSync, !plan.checksLastLogin { succeed(opening) }
  }

  /// Tells of a presence behind the messages that came before it.
  private func tell(_ presence: Presence, on stream: XMPPStream) async {
    guard let from = presence.from, presence.type == nil || presence.type == .unavailable else { return }
    let change = PresenceChange(
      from: from.description, show: PresenceShow(presence), status: presence.status,
      priority: Int(presence.priority))
    if traffic.backlog.pending == 0 {
      hub.publish(account: account.description, .presence(change))
    } else {
      enqueue(.shown(change), stream)
      await roomForMessages()
    }
  }

  /// Asks the server at once whether it is there; a stream without an answer ends, and the session comes back.
  @discardableResult
  func probe(timeout: TimeAmount = .seconds(5)) async -> Bool {
    guard let stream = online?.stream else { return false }
    do throws(XMPPError) {
      try await stream.probe(timeout: timeout)
      return online?.stream === stream
    } catch {
      // Who has asked does not wait any more: that says nothing of the server.
      if error.code == .cancelled { return online?.stream === stream }
      let error = XMPPError.silentServer
      await stream.abort(error)
      // At once, not when the stream's events come to it: who has asked is to be told the truth.
      await ended(stream, error)
      return false
    }
  }

  private func ended(_ stream: XMPPStream, _ error: XMPPError?) async {
    let isFirstExcess = error?.isExcess == true && !hasExceededLimits
    if isFirstExcess { hasExceededLimits = true }
    // A connection that breaks later is taken to have broken by itself.
    let isOverrun = error?.isOverrun == true && (error?.condition != nil || opening?.stream === stream)
    if isOverrun { managesStream = false }
    var failure = error.map(Failure.init)
    let isByOwn = failure.map { kickPolicy.isOwn($0, at: clock.uptime()) } ?? false
    if isByOwn {
      failure = Failure(
        .networkError, stage: .stream, detail: "the server has taken up an earlier attempt of this session")
    }
    tried.objection = error?.objection ?? .none
    tried.isElsewhere = error?.isElsewhere == true
    if tried.isElsewhere { resumable?.forgetLocation() }
    let lost = online?.stream === stream ? endOnline(state(after: failure, of: stream)) : nil
    await messagesEnded(of: stream)
    if lost != nil {
      leave(await stream.management)
      if isByOwn { resumable?.end() }
      otherHost = error?.otherHost
    }
    if opening?.stream === stream {
      let failure = failure ?? Failure(.cancelled, stage: .connect)
      if lost == nil, tried.mechanism != nil { kickPolicy.loginFailed(failure, at: clock.uptime()) }
      tried.isReplacedByOwn = isByOwn
      endOpening(.failure(failure.beforeSync))
    } else if let lost, !lost.isAccountEnding, let failure = failure ?? closedInVain {
      await self.lost(lost, failure, isCured: isFirstExcess || isOverrun)
    }
  }

  /// What others will be told of the end of the stream that was online.
  private func state(after failure: Failure?, of stream: XMPPStream) -> SessionState {
    if opening?.stream === stream { return failure == nil ? .offline : .loginFailed }
    return (failure ?? closedInVain).map(Self.state(afterLosing:)) ?? .offline
  }

  /// A stream that was closed for another one, which did not come: the session is to be online all the same. nil where
  /// it is known what follows.
  private var closedInVain: Failure? {
    guard opening == nil, kept != nil else { return nil }
    return Failure(.networkError, stage: .stream, detail: "closed for a login that failed")
  }
}
