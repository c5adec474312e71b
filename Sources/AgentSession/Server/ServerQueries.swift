import AgentProtocol
import FoundationEssentials
import NIOCore
import XMPP
import XMPPClient
import XMPPFeatures
import XMPPStanza

/// The commands that query the account's server.
package final class ServerQueries {
  private unowned let session: Session
  let context: SessionContext
  /// The server's clock after its first answer.
  private var clock: ServerClock?
  /// The request for the clock that is under way.
  private var asking: Task<Result<ServerClock, Failure>, Never>?

  init(of session: Session, _ context: SessionContext) {
    self.session = session
    self.context = context
  }

  /// The server's time. Concurrent calls share one request.
  package func time(_ question: ServerQuestion) async throws(Failure) -> ServerTime {
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
      // With a cached answer, do not wait for a session that may take long to come online.
      if clock != nil, let failure = session.ask({ $0.online == nil ? $0.lastFailure : nil }) {
        throw failure
      }
      let server = try await conversation(for: question)
      let sent = context.clock.uptime()
      let answer = try await server.ask(EntityTime.request(server.domain))
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
    // Adding 0 turns -0 into 0.
    func milliseconds(_ seconds: Double) -> Double { (seconds * 1000).rounded() / 1000 + 0 }
    return ServerTime(
      account: context.account.description, server: context.account.domain,
      time: Timestamp.text(Date(timeIntervalSince1970: time)), zone: DateTime.zone(clock.offset),
      ahead: milliseconds(time - context.clock.now()), age: cached ? milliseconds(clock.age(at: uptime)) : 0,
      cached: cached, cause: cause)
  }

  /// Measures the round-trip time of a ping.
  package func ping(_ question: ServerQuestion) async throws(Failure) -> ServerPingMethod.Result {
    let server = try await conversation(for: question)
    let sent = ContinuousClock.now
    _ = try await server.ask(Ping.request(server.domain))
    let milliseconds = ((ContinuousClock.now - sent) / .microseconds(1)).rounded() / 1000
    return .init(
      account: context.account.description, server: context.account.domain, milliseconds: milliseconds)
  }

  /// The name and version of the server's software.
  package func version(_ question: ServerQuestion) async throws(Failure) -> ServerVersionMethod.Result {
    let server = try await conversation(for: question)
    let answer = try await server.ask(SoftwareVersion.request(server.domain))
    guard let version = SoftwareVersion(answer) else { throw Self.unusable(.unusableVersion) }
    return .init(
      account: context.account.description, server: context.account.domain, software: ServerSoftware(version))
  }

  /// The identity and features of the server. Only the answer for its domain is required.
  package func info(_ question: ServerQuestion) async throws(Failure) -> ServerInfoMethod.Result {
    let server = try await conversation(for: question)
    let account = context.account
    async let version = try? server.ask(SoftwareVersion.request(server.domain))
    async let items = try? server.ask(ServiceItem.request(server.domain))
    async let own = try? server.ask(ServiceDiscovery.request(account))
    guard
      let discovery = ServiceDiscovery(
        try await server.ask(ServiceDiscovery.request(server.domain)))
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

  /// Prepares requests on the bound stream with the remaining time. Waits for a session that is about to come online.
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
