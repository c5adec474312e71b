import AgentLogin
import AgentProtocol
import NIOCore
import XMPP
import XMPPClient
import XMPPFeatures
import XMPPStanza
import XMPPTransport
import XMPPXML

// The client's requests to the session, and its events.

extension Session {
  var clientConfiguration: ClientConfiguration {
    var configuration = ClientConfiguration { [weak self] () throws(XMPPError) in
      guard let self else { throw XMPPError(.cancelled, stage: .connect, .says(.attemptGivenUp)) }
      return try await streamConfiguration()
    }
    configuration.onEvent = { [weak self] event in await self?.handle(event) }
    configuration.verdict = { [weak self] end in await self?.verdict(after: end) ?? .never }
    configuration.farewell = { [weak self] in await self?.farewell() ?? [] }
    configuration.acceptsSessions = false
    configuration.policy = ReconnectPolicy(quickReturns: patience.quickReturns)
    configuration.clock.uptime = clock.uptime
    configuration.clock.sleep = clock.sleep
    return configuration
  }

  private func farewell() -> [XMLElement] { presence.farewell }

  // MARK: The next stream

  private func streamConfiguration() async throws(XMPPError) -> StreamConfiguration {
    // A session that is lost at the end of a turn reconnects during the turn.
    guard let login = login ?? beginReconnection() else {
      throw XMPPError(.cancelled, stage: .connect, .says(.attemptGivenUp))
    }
    login.preparationBegan()
    do throws(Failure) { return try await streamConfiguration(for: login) } catch {
      login.fail(error)
      throw XMPPError(.init(error.name), stage: .connect, .says(.attemptGivenUp))
    }
  }

  private func streamConfiguration(for login: PendingLogin) async throws(Failure) -> StreamConfiguration {
    if login.attempt == nil { try beginAttempt(of: login) }
    login.streamBegan()
    let cancelled = Failure(.cancelled, stage: .connect)
    guard !reconnection.isEnding else { throw cancelled }
    await messages.restore()
    await contacts.restore()
    guard let attempt = login.attempt else { throw cancelled }
    let presented = try await attempt.plan.resolveCredentials(
      within: .seconds(min(60, attempt.remaining)), isAutomatic: login.terms.isAutomatic
    ) { [hub, account] cause in
      // The credentials given beforehand are used in place of a token.
      hub.publish(account: account.description, .tokenUnavailable(cause: cause))
    }
    login.credentialsResolved(presented)
    guard !reconnection.isEnding, !Task.isCancelled, let attempt = login.attempt else { throw cancelled }
    login.connectingBegan()
    return configuration(of: attempt, presenting: presented, login.terms)
  }

  private func beginAttempt(of login: PendingLogin) throws(Failure) {
    if login.terms.isAutomatic {
      guard var plan = activePlan else { throw Failure(.cancelled, stage: .connect) }
      plan.checksLastLogin = plan.checksLastLogin || plan.devicePolicy.check == .last
      login.adopt(plan)
      // If too many files are open for a connection, no attempt begins, since each would be stored.
      guard DescriptorReserve.leaves(DescriptorReserve.ofConnections) else {
        let failure = Failure(.networkError, stage: .connect, detail: .session(.tooManyFiles))
        reconnection.attemptPrevented(by: failure)
        throw failure
      }
    }
    try login.beginAttempt(after: lastFailure)
  }

  private func configuration(
    of attempt: LoginAttempt, presenting presented: ResolvedCredentials, _ terms: PendingLogin.Terms
  ) -> StreamConfiguration {
    var configuration = attempt.plan.configuration(
      presenting: presented, timeout: .nanoseconds(Int64(attempt.remaining * 1e9)), language: language)
    configuration.confirmsStanzas = true
    configuration.resendsMessages = false
    configuration.keepAlive = patience.keepAlive
    configuration.acknowledgementTimeout = min(patience.keepAlive, .seconds(20))
    configuration.enablesCarbons = true
    configuration.responders = context.refusals.counting(.push, in: configuration.responders)
    configuration.onUnanswered = { [refusals = context.refusals] in refusals.add(.request) }
    configuration.responders.merge(ClientIdentity.responders(for: presence.authorisation)) { $1 }
    if terms.wire {
      configuration.wireLog = { [hub, account] direction, xml in
        hub.publish(account: account.description, .wire(WireLine(direction: direction.rawValue, xml: xml)))
      }
    }
    return configuration
  }

  // MARK: What happens

  private func handle(_ event: ClientEvent) async {
    switch event {
    case .other(let events, let stream): await handle(events, in: stream)
    case .step(let step): if login?.isConnecting == true { handle(step) }
    case .bound(let stream): await bind(stream)
    case .lost(let stream, let error, let cure): await lost(stream, error, cure)
    case .replaced(let stream): await messages.ended(stream)
    case .retrying(let remedy): retry(remedy)
    case .waiting(let seconds, let mayHurry): pause(seconds, mayHurry: mayHurry)
    case .failed, .handlerFailed, .offline: break
    }
  }

  private func handle(_ step: LoginStep) {
    switch step {
    case .linking(let target):
      reconnection.attemptBegan()
      enter(.linking) {
        $0.host = target.host
        $0.port = target.port
        $0.attempt = reconnection.attempts
      }
    case .linkOK(let tls, let offer):
      login?.serverOffered(offer)
      enter(.linkOK) { $0.tls = tls.map(TLSSummary.init) }
    case .logining(let mechanism):
      login?.mechanismBegan(mechanism)
      // If a token was refused, the same stream continues with other credentials, without another event.
      if published.status.state != .logining { enter(.logining) { $0.mechanism = mechanism.rawValue } }
    case .loginOK: break
    }
  }

  /// The client repeats the attempt on another stream.
  private func retry(_ remedy: StreamSuccession.Remedy) {
    guard let login else { return }
    log.info("trying again: \(remedy.rawValue)", metadata: ["account": "\(account)"])
    login.repeated(remedy)
  }

  /// - Parameter events: One event, or several messages or requests that arrived together.
  private func handle(_ events: [StreamEvent], in stream: BoundSession) async {
    let pushes: [ContactArrivals.Arrival] = events.compactMap { event in
      if case .request(let push) = event { .push(push) } else { nil }
    }
    if !pushes.isEmpty, stream.isCurrent { await contacts.receive(pushes) }
    for event in events { await handle(event, in: stream) }
  }

  private func handle(_ event: StreamEvent, in stream: BoundSession) async {
    if case .acknowledged(let stanzas) = event {
      return messages.outbox.acknowledged(stanzas, by: stream)
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

  /// Publishes a presence after the messages that arrived before it.
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
}
