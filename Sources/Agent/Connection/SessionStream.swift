import AgentLogin
import AgentProtocol
import FoundationEssentials
import NIOCore
import XMPP
import XMPPClient
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
      do throws(Failure) {
        return try await openOnce(plan, attempt)
      } catch {
        guard !Task.isCancelled, leaving == 0, !isEnding else { throw error }
        if let remedy = tried.remedy {
          log.info("once more, \(remedy.rawValue)", metadata: ["account": "\(account)"])
          if remedy == .stepByStep { plan.objections = tried.objection.rawValue }
          if remedy == .fromAnotherAddress, attempt.isAutomatic { attempt.started = .now }
          continue
        }
        if tried.objection == .possible, !plan.isStepByStep { await keepObjection(to: plan) }
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
    await messages.restore()
    await contacts.restore()
    let presented = try await present(plan, attempt)
    tried.presented = presented
    guard !isEnding, opening == nil, !Task.isCancelled else { throw Failure(.cancelled, stage: .connect) }
    do throws(Failure) {
      return try await openStream(plan, presented, attempt)
    } catch {
      throw plan.interpret(
        error, of: tried.mechanism, offered: tried.offered, presented: presented,
        at: Date().timeIntervalSince1970)
    }
  }

  private func openStream(
    _ plan: LoginPlan, _ presented: Presented, _ attempt: Attempt
  ) async throws(Failure) -> LoginSuccess {
    let stream = XMPPStream(configuration(plan, presented, attempt))
    openings += 1
    let opening = Opening(openings, stream, plan, attempt)
    self.opening = opening
    // A task keeps the memory of its deepest call until it ends: what is handled has one of its own.
    Task {
      while let event = await stream.next() { await Task { await self.handle(event, of: opening) }.value }
    }
    Task { _ = try? await stream.connect() }
    let limit = Task {
      try await Task.sleep(for: .seconds(attempt.remaining))
      await self.expire(opening, after: attempt.limit)
    }
    defer { limit.cancel() }
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { (waiter: CheckedContinuation<Result<LoginSuccess, Failure>, Never>) in
        opening.waiter = waiter
      }
    } onCancel: { [number = openings] in
      Task { await self.giveUp(number) }
    }
    return try result.get()
  }

  private func configuration(
    _ plan: LoginPlan, _ presented: Presented, _ attempt: Attempt
  ) -> StreamConfiguration {
    var configuration = plan.configuration(
      presenting: presented, timeout: .nanoseconds(Int64(attempt.remaining * 1e9)), language: language)
    configuration.confirmsStanzas = true
    configuration.resendsMessages = false
    configuration.keepAlive = patience.keepAlive
    configuration.acknowledgementTimeout = min(patience.keepAlive, .seconds(20))
    configuration.enablesCarbons = true
    configuration.responders = context.refusals.counting(.push, in: configuration.responders)
    configuration.onUnanswered = { [refusals = context.refusals] in refusals.add(.request) }
    configuration.responders.merge(ClientIdentity.responders(for: presence.authorisation)) { $1 }
    configuration.onTLSSession = { session in Task { await self.keep(session) } }
    succession.configure(&configuration, at: clock.uptime(), isReplacing: online != nil)
    if attempt.wire {
      configuration.wireLog = { [hub, account] direction, xml in
        hub.publish(account: account.description, .wire(WireLine(direction: direction.rawValue, xml: xml)))
      }
    }
    if let replaced = online?.stream.stream {
      let farewell = presence.farewell
      configuration.beforeBinding = { await replaced.close(sending: farewell) }
    }
    return configuration
  }

  private func keep(_ session: TLSSession) { succession.keep(session) }

  /// Nobody waits for this stream any more.
  func giveUp(_ number: Int, patience: TimeAmount = .seconds(2)) async {
    guard let opening, opening.number == number else { return }
    let farewell = opening.session?.isCurrent == true ? presence.farewell : []
    await opening.stream.close(sending: farewell, patience: patience)
  }

  /// Until a resource is bound the stream keeps to the bound by itself, and says how far it came.
  private func expire(_ opening: Opening, after seconds: Double) async {
    guard self.opening?.number == opening.number, opening.session?.isCurrent == true else { return }
    let farewell = presence.farewell
    endOnline(.loginFailed)
    endOpening(
      .failure(
        Failure(.connectTimeout, stage: .sync, detail: .session(.noAnswer, FailureDetail.seconds(seconds))))
    )
    await opening.stream.close(sending: farewell)
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
    messages.outbox.suspend()
    online?.beginning.end()
    online?.stream.end()
    defer { online = nil }
    return online
  }

  // MARK: Events of a stream

  private func handle(_ event: StreamEvent, of opening: Opening) async {
    switch event {
    case .step(let step): if self.opening?.number == opening.number { await handle(step) }
    case .closed(let error): await ended(opening, error)
    default: if let session = opening.session { await handle(event, in: session) }
    }
  }

  private func handle(_ event: StreamEvent, in stream: BoundSession) async {
    switch event {
    case .acknowledged(let stanzas): return messages.outbox.acknowledged(stanzas, by: stream)
    case .request(let push):
      let more = await stream.stream.nextRequests(ContactArrivals.maximumTogether - 1)
      if stream.isCurrent { await contacts.receive(([push] + more).map { .push($0) }) }
      return
    default: break
    }
    guard stream.isCurrent else { return }
    switch event {
    case .presence(let presence):
      await tell(presence, on: stream)
      await devices.receive(presence)
      await contacts.receive([.presence(presence)])
    case .marked(SessionBeginning.mark): await contacts.receive([.begun])
    case .message(let message):
      await devices.receive(message)
      await messages.receive(message, on: stream)
      guard let event = PubSub.Event(message, own: account.bare) else { return }
      await conversations.receive(event)
      await contacts.receive(event)
    case .received(let count): await messages.receive(through: count, on: stream)
    case .leftOut(let stanza, let excess, let octets):
      await messages.leftOut(stanza, excess, octets, on: stream)
    case .step, .request, .marked, .answer, .acknowledged, .closed: break
    }
  }

  private func handle(_ step: LoginStep) async {
    succession.passed(step)
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
      presence.want(show)
    }
    endOnline(.loginOK)
    succession.bound()
    let stream = BoundSession(opening.stream, bound)
    opening.session = stream
    let beginning = SessionBeginning(stream, context)
    online = Online(beginning, opening, plan)
    online?.began = clock.uptime()
    if !bound.isResumed {
      onlineSince = timestamp()
    }
    online?.leavesOutExtension = plan.leavesOutExtension(of: tried.presented, in: bound)
    presence.begin(stream)
    contacts.begin(beginning)
    messages.begin(stream)
    let isWanted = !opening.attempt.isAutomatic || status.sessions == 0
    devices.begin(stream, isLogin: isWanted && !bound.isResumed)
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
      await self.synchronise(stream)
    }
    if opening.attempt.noSync, !plan.checksLastLogin { succeed(opening) }
  }

  /// Tells of a presence behind the messages that came before it.
  private func tell(_ presence: Presence, on stream: BoundSession) async {
    guard let from = presence.from, presence.type == nil || presence.type == .unavailable else { return }
    let change = PresenceChange(
      from: from.description, show: PresenceShow(presence), status: presence.status,
      priority: Int(presence.priority))
    if messages.queue.isEmpty {
      hub.publish(account: account.description, .presence(change))
    } else {
      messages.queue.append(.shown(change), of: stream)
      await messages.queue.waitForRoom()
    }
  }

  /// Asks the server at once whether it is there; a stream without an answer ends, and the session comes back.
  @discardableResult
  func probe(timeout: TimeAmount = .seconds(5)) async -> Bool {
    guard let online else { return false }
    do throws(XMPPError) {
      try await online.stream.probe(timeout: timeout)
      return online.stream.isCurrent
    } catch {
      // Who has asked does not wait any more: that says nothing of the server.
      if error.code == .cancelled { return online.stream.isCurrent }
      let error = XMPPError.silentServer
      await online.stream.stream.abort(error)
      // At once, not when the stream's events come to it: who has asked is to be told the truth.
      await ended(online.opening, error)
      return false
    }
  }

  private func ended(_ ended: Opening, _ error: XMPPError?) async {
    let isOpening = opening?.number == ended.number
    let isOnline = ended.session?.isCurrent == true
    let now = clock.uptime()
    tried.objection = error?.objection ?? .none
    tried.isElsewhere = error?.isElsewhere == true
    var remedy: StreamSuccession.Remedy?
    if isOnline {
      remedy = succession.lost(error, isNew: isOpening, at: now)
    } else if isOpening {
      let known = succession.failed(error ?? Self.givenUp, at: now)
      remedy = tried.remedy ?? known
    }
    var failure = error.map(Failure.init)
    if remedy == .afterOwnAttempt {
      failure = Failure(
        .networkError, stage: .stream, detail: .session(.earlierAttempt))
    }
    let lost = isOnline ? endOnline(state(after: failure, isOpening: isOpening)) : nil
    if let session = ended.session { await messages.ended(session) }
    if lost != nil { succession.leave(await ended.stream.management, at: now) }
    if opening?.number == ended.number {
      let failure = failure ?? Failure(.cancelled, stage: .connect)
      tried.remedy = remedy
      endOpening(.failure(failure.beforeSync))
    } else if let lost, !lost.isAccountEnding, let failure = failure ?? closedInVain {
      await self.lost(lost, failure, isCured: remedy != nil && remedy != .afterOwnAttempt)
    }
  }

  private static let givenUp = XMPPError(.cancelled, stage: .connect, .says(.loginGivenUp))

  /// What others will be told of the end of the stream that was online.
  private func state(after failure: Failure?, isOpening: Bool) -> SessionState {
    if isOpening { return failure == nil ? .offline : .loginFailed }
    return (failure ?? closedInVain).map(Self.state(afterLosing:)) ?? .offline
  }

  /// A stream that was closed for another one, which did not come: the session is to be online all the same. nil where
  /// it is known what follows.
  private var closedInVain: Failure? {
    guard opening == nil, kept != nil else { return nil }
    return Failure(.networkError, stage: .stream, detail: .session(.loginFailed))
  }
}
