import AgentProtocol
import Logging
import TestSupport
import Testing
import XMPP
import XMPPStanza

@testable import Agent

@Suite("A session that is sent to another host", .timeLimit(.minutes(6)))
struct OtherHostTests {
  /// The stream of a session ends as it does when its server sends it elsewhere.
  private func send(_ session: Session, to port: Int) async {
    let error = StreamError(.seeOtherHost, address: "\(TestServer.host):\(port)")
    await session.boundStream?.abort(XMPPError(streamError: error, phase: .online, stage: .stream))
  }

  private func session(_ port: Int, _ hub: EventHub, _ home: TemporaryDirectory) async throws -> Session {
    let account = "alice@\(TestServer.domain)"
    let session = try Session(
      account: try JID(account), hub: hub, accounts: AccountStore(directory: home.path + "/config"),
      localStore: LocalStore(path: home.paths.database), log: Logger(label: "test"), language: "en")
    var parameters = LoginMethod.Parameters(account: account)
    parameters.password = "alice-secret"
    parameters.options.host = TestServer.host
    parameters.options.port = port
    parameters.options.caFile = try await TestAuthority.shared.caFile
    _ = try await session.login(parameters)
    return session
  }

  @Test("comes back there.")
  func followed() async throws {
    let first = try await TestServer.shared(.prosody)
    let second = try await TestServer.shared(.ejabberd24)
    let hub = EventHub(cursor: 0)
    let session = try await session(first.port, hub, TemporaryDirectory())
    var events = hub.subscribe(EventHub.Filter(events: ["state"])).makeAsyncIterator()
    await send(session, to: second.port)
    var ports: [Int?] = []
    while ports.isEmpty, let event = await events.next() {
      if case .state(let change) = event.body, change.state == .loginOK { ports.append(change.port) }
    }
    #expect(ports == [second.port])
    await session.close()
  }

  @Test("comes back where it was when the other one is not the domain's, which gets no password.")
  func foreign() async throws {
    let first = try await TestServer.shared(.prosody)
    var options = ScriptedServer.Options()
    options.certificate = try await TestAuthority.shared.certificate(for: ["evil.example"])
    let evil = try await ScriptedServer(.login(until: .mechanisms), options: options)
    let hub = EventHub(cursor: 0)
    let session = try await session(first.port, hub, TemporaryDirectory())
    var events = hub.subscribe(EventHub.Filter(events: ["state"])).makeAsyncIterator()
    await send(session, to: evil.port)
    var causes: [Failure.Name] = []
    var ports: [Int?] = []
    while ports.isEmpty, let event = await events.next() {
      guard case .state(let change) = event.body else { continue }
      if change.state == .loginOK { ports.append(change.port) }
      if change.state == .linkFailed, let cause = change.cause { causes.append(cause.name) }
    }
    #expect(causes == [.tlsFailure])
    #expect(ports == [first.port])
    #expect(evil.connections == 1)
    #expect(!evil.received.contains("<auth"))
    await session.close()
    try await evil.end()
  }
}
