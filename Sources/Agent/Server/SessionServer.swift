import AgentProtocol
import FoundationEssentials
import NIOCore
import XMPP
import XMPPClient
import XMPPFeatures
import XMPPStanza

// What is asked of the account's server.

extension Session {
  /// What time it is at the server. Several who want to know at a time ask it once.
  func serverTime(_ question: ServerQuestion) async throws(Failure) -> ServerTime {
    if !question.fresh, isReachable, let serverClock, serverClock.isFresh(at: clock.uptime()) {
      return reading(serverClock, cached: true)
    }
    let asking = askingTime ?? Task { await self.askTime(question) }
    askingTime = asking
    let outcome = await asking.value
    if askingTime == asking { askingTime = nil }
    switch outcome {
    case .success(let answer): return reading(answer, cached: false)
    case .failure(let failure):
      guard let serverClock, isReachable else { throw failure }
      return reading(serverClock, cached: true, cause: failure)
    }
  }

  private func askTime(_ question: ServerQuestion) async -> Result<ServerClock, Failure> {
    do throws(Failure) {
      // Who has an answer already does not wait for a session that may be long in coming.
      if online == nil, serverClock != nil, let failure = lastFailure { throw failure }
      let server = try await serverStream(question)
      let sent = clock.uptime()
      let answer = try await server.ask(EntityTime.request(server.domain), "the time")
      guard let time = EntityTime(answer) else { throw Self.unusable("the time") }
      let serverClock = ServerClock(time, sent: sent, received: clock.uptime())
      self.serverClock = serverClock
      return .success(serverClock)
    } catch {
      return .failure(error)
    }
  }

  private func reading(_ serverClock: ServerClock, cached: Bool, cause: Failure? = nil) -> ServerTime {
    let uptime = clock.uptime()
    let time = serverClock.time(at: uptime)
    // Nothing is added, but to -0.
    func milliseconds(_ seconds: Double) -> Double { (seconds * 1000).rounded() / 1000 + 0 }
    return ServerTime(
      account: account.description, server: account.domain,
      time: Timestamp.text(Date(timeIntervalSince1970: time)), zone: DateTime.zone(serverClock.offset),
      ahead: milliseconds(time - clock.now()), age: cached ? milliseconds(serverClock.age(at: uptime)) : 0,
      cached: cached, cause: cause)
  }

  /// How long a question takes there and back.
  func serverPing(_ question: ServerQuestion) async throws(Failure) -> ServerPingMethod.Result {
    let server = try await serverStream(question)
    let sent = ContinuousClock.now
    _ = try await server.ask(Ping.request(server.domain), "a ping")
    let milliseconds = ((ContinuousClock.now - sent) / .microseconds(1)).rounded() / 1000
    return .init(account: account.description, server: account.domain, milliseconds: milliseconds)
  }

  /// What software the server is.
  func serverVersion(_ question: ServerQuestion) async throws(Failure) -> ServerVersionMethod.Result {
    let server = try await serverStream(question)
    let answer = try await server.ask(SoftwareVersion.request(server.domain), "the version")
    guard let version = SoftwareVersion(answer) else { throw Self.unusable("the version") }
    return .init(
      account: account.description, server: account.domain, software: ServerSoftware(version))
  }

  /// What the server is and can do. Only what it says of its domain must be there.
  func serverInfo(_ question: ServerQuestion) async throws(Failure) -> ServerInfoMethod.Result {
    let server = try await serverStream(question)
    async let version = try? server.ask(SoftwareVersion.request(server.domain), "the version")
    async let items = try? server.ask(ServiceItem.request(server.domain), "the services")
    async let own = try? server.ask(ServiceDiscovery.request(account), "the features")
    guard
      let discovery = ServiceDiscovery(
        try await server.ask(ServiceDiscovery.request(server.domain), "the features"))
    else { throw Self.unusable("the features") }
    var info = ServerInfoMethod.Result(account: account.description, server: account.domain)
    info.identities = discovery.identities.map { .init(category: $0.category, type: $0.type, name: $0.name) }
    info.contact = ContactAddresses.addresses(in: discovery)
    info.software = await version.flatMap { SoftwareVersion($0) }.map(ServerSoftware.init)
    info.services = (await items.flatMap { ServiceItem.items(of: $0) } ?? [])
      .filter { $0.node == nil }.map { .init(jid: $0.jid.description, name: $0.name) }
    let ofAccount = await own.flatMap { ServiceDiscovery($0) }?.features ?? []
    info.features = discovery.features.union(ofAccount).sorted().map {
      .init(feature: $0, server: discovery.features.contains($0), account: ofAccount.contains($0))
    }
    return info
  }

  /// There is a session that could ask, or is on its way to be one.
  private var isReachable: Bool { online != nil || kept != nil }

  /// The bound stream, with the time that is left. A session that is on its way to come online is waited for.
  func serverStream(_ question: ServerQuestion) async throws(Failure) -> ServerConversation {
    let domain: JID
    do { domain = try JID(account.domain) } catch { throw Failure(.internalError, stage: .request) }
    let end = ContinuousClock.now + .seconds(question.timeout > 0 ? question.timeout : 3600)
    if online == nil { try await waitUntilOnline(until: end) }
    guard let stream = online?.stream else { throw Failure(.notLoggedIn, stage: .request) }
    return ServerConversation(stream: stream, domain: domain, end: end)
  }

  /// Returns when there is a bound stream. Throws where none is to come, or not in time.
  func waitUntilOnline(until end: ContinuousClock.Instant) async throws(Failure) {
    let events = hub.subscribe(EventHub.Filter(events: ["state"], account: account.description))
    let isToBeOnline = await isToBeOnline()
    guard online == nil else { return events.cancel() }
    guard isToBeOnline, self.end == nil, idle != .disconnect, !isEnding else {
      events.cancel()
      throw Failure(.notLoggedIn, stage: .request)
    }
    let limit = Task {
      try await Task.sleep(until: end)
      events.cancel()
    }
    defer { limit.cancel() }
    for await _ in events {
      if online != nil { return events.cancel() }
      if self.end != nil || (status.state == .offline && !isBusy) { events.cancel() }
    }
    if let failure = self.end?.failure ?? lastFailure { throw failure }
    throw Failure(.notLoggedIn, stage: .request)
  }

  private static func unusable(_ what: String) -> Failure {
    Failure(.protocolError, stage: .request, detail: "the server's answer about \(what) cannot be understood")
  }
}

/// The account's server, while it is asked something.
struct ServerConversation: Sendable {
  let stream: BoundSession
  let domain: JID
  /// When an answer is too late.
  let end: ContinuousClock.Instant

  /// Throws `stanzaError` where the server refuses to answer.
  func ask(_ question: IQ, _ what: String) async throws(Failure) -> IQ {
    let answer = try await answer(to: question)
    if let error = answer.error { throw Failure(XMPPError(stanzaError: error, to: what)) }
    return answer
  }

  /// What is answered, be it an error.
  func answer(to question: IQ) async throws(Failure) -> IQ {
    do throws(XMPPError) {
      let left = max(1, Int64((end - .now) / .milliseconds(1)))
      return try await stream.request(question, timeout: .milliseconds(left))
    } catch {
      throw Failure(error)
    }
  }
}

extension ServerSoftware {
  init(_ version: SoftwareVersion) {
    self.init(name: version.name, version: version.version, os: version.system)
  }
}
