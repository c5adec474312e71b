import AgentProtocol
import FoundationEssentials
import NIOCore
import XMPP
import XMPPClient
import XMPPFeatures
import XMPPStanza

/// What commands ask of the account's server.
final class ServerQueries {
  private unowned let session: Session
  let context: SessionContext
  /// The server's clock, once it was asked.
  private var clock: ServerClock?
  /// Asks it now.
  private var asking: Task<Result<ServerClock, Failure>, Never>?

  init(of session: Session, _ context: SessionContext) {
    self.session = session
    self.context = context
  }

  /// What time it is at the server. Several who want to know at a time ask it once.
  func time(_ question: ServerQuestion) async throws(Failure) -> ServerTime {
    let isReachable = session.ask { $0.isReachable }
    if !question.fresh, isReachable, let clock, clock.isFresh(at: context.clock.uptime()) {
      return reading(clock, cached: true)
    }
    let asking = asking ?? session.start { await $0.serverQueries.askTime(question) }
    self.asking = asking
    let outcome = await asking.value
    if self.asking == asking { self.asking = nil }
    switch outcome {
    case .success(let answer): return reading(answer, cached: false)
    case .failure(let failure):
      guard let clock, session.ask({ $0.isReachable }) else { throw failure }
      return reading(clock, cached: true, cause: failure)
    }
  }

  private func askTime(_ question: ServerQuestion) async -> Result<ServerClock, Failure> {
    do throws(Failure) {
      // Who has an answer already does not wait for a session that may be long in coming.
      if clock != nil, let failure = session.ask({ $0.online == nil ? $0.lastFailure : nil }) {
        throw failure
      }
      let server = try await conversation(for: question)
      let sent = context.clock.uptime()
      let answer = try await server.ask(EntityTime.request(server.domain), "the time")
      guard let time = EntityTime(answer) else { throw Self.unusable(.unusableTime) }
      let clock = ServerClock(time, sent: sent, received: context.clock.uptime())
      self.clock = clock
      return .success(clock)
    } catch {
      return .failure(error)
    }
  }

  private func reading(_ clock: ServerClock, cached: Bool, cause: Failure? = nil) -> ServerTime {
    let uptime = context.clock.uptime()
    let time = clock.time(at: uptime)
    // Nothing is added, but to -0.
    func milliseconds(_ seconds: Double) -> Double { (seconds * 1000).rounded() / 1000 + 0 }
    return ServerTime(
      account: context.account.description, server: context.account.domain,
      time: Timestamp.text(Date(timeIntervalSince1970: time)), zone: DateTime.zone(clock.offset),
      ahead: milliseconds(time - context.clock.now()), age: cached ? milliseconds(clock.age(at: uptime)) : 0,
      cached: cached, cause: cause)
  }

  /// How long a question takes there and back.
  func ping(_ question: ServerQuestion) async throws(Failure) -> ServerPingMethod.Result {
    let server = try await conversation(for: question)
    let sent = ContinuousClock.now
    _ = try await server.ask(Ping.request(server.domain), "a ping")
    let milliseconds = ((ContinuousClock.now - sent) / .microseconds(1)).rounded() / 1000
    return .init(
      account: context.account.description, server: context.account.domain, milliseconds: milliseconds)
  }

  /// What software the server is.
  func version(_ question: ServerQuestion) async throws(Failure) -> ServerVersionMethod.Result {
    let server = try await conversation(for: question)
    let answer = try await server.ask(SoftwareVersion.request(server.domain), "the version")
    guard let version = SoftwareVersion(answer) else { throw Self.unusable(.unusableVersion) }
    return .init(
      account: context.account.description, server: context.account.domain, software: ServerSoftware(version))
  }

  /// What the server is and can do. Only what it says of its domain must be there.
  func info(_ question: ServerQuestion) async throws(Failure) -> ServerInfoMethod.Result {
    let server = try await conversation(for: question)
    let account = context.account
    async let version = try? server.ask(SoftwareVersion.request(server.domain), "the version")
    async let items = try? server.ask(ServiceItem.request(server.domain), "the services")
    async let own = try? server.ask(ServiceDiscovery.request(account), "the features")
    guard
      let discovery = ServiceDiscovery(
        try await server.ask(ServiceDiscovery.request(server.domain), "the features"))
    else { throw Self.unusable(.unusableFeatures) }
    var info = ServerInfoMethod.Result(account: context.account.description, server: context.account.domain)
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

  /// The bound stream, with the time that is left. A session that is on its way to come online is waited for.
  func conversation(for question: ServerQuestion) async throws(Failure) -> ServerConversation {
    let domain: JID
    do { domain = try JID(context.account.domain) } catch { throw Failure(.internalError, stage: .request) }
    let end = ContinuousClock.now + .seconds(question.timeout > 0 ? question.timeout : 3600)
    let stream = try await session.boundSession(until: end)
    return ServerConversation(stream: stream, domain: domain, end: end)
  }

  private static func unusable(_ what: FailureDetail.Session) -> Failure {
    Failure(.protocolError, stage: .request, detail: .session(what))
  }
}
