import AgentProtocol
import Logging
import TestSupport
import Testing
import XMPPStanza

@testable import Agent

@Suite("A session that is sent to another host", .timeLimit(.minutes(3)))
struct OtherHostTests {
  private func seeOtherHost(_ address: String) -> ScriptedServer.Step {
    .server(
      "<stream:error><see-other-host xmlns='urn:ietf:params:xml:ns:xmpp-streams'>\(address)</see-other-host>"
        + "</stream:error></stream:stream>")
  }

  private let synced: [ScriptedServer.Step] =
    .login(until: .bound) + [
      .client("<iq type='get' id='{roster}'><query xmlns='jabber:iq:roster'/></iq>"),
      .server("<iq type='result' id='{roster}'><query xmlns='jabber:iq:roster'/></iq>"),
      .client("<presence/>"),
    ]

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
    let server = try await TestServer.shared(.prosody)
    let first = try await ScriptedServer(synced + [seeOtherHost("\(TestServer.host):\(server.port)")])
    let hub = EventHub(cursor: 0)
    var events = hub.subscribe(EventHub.Filter(events: ["state"])).makeAsyncIterator()
    let session = try await session(first.port, hub, TemporaryDirectory())
    var ports: [Int?] = []
    while ports.count < 2, let event = await events.next() {
      if case .state(let change) = event.body, change.state == .loginOK { ports.append(change.port) }
    }
    #expect(ports == [first.port, server.port])
    #expect(first.connections == 1)
    await session.close()
    try await first.end()
  }

  @Test("comes back where it was when the other one is not the domain's, which gets no password.")
  func foreign() async throws {
    var options = ScriptedServer.Options()
    options.certificate = try await TestAuthority.shared.certificate(for: ["evil.example"])
    let evil = try await ScriptedServer(.login(until: .mechanisms), options: options)
    let first = try await ScriptedServer(
      eachConnection: [synced + [seeOtherHost("\(TestServer.host):\(evil.port)")], synced + [.stall]])
    let hub = EventHub(cursor: 0)
    var events = hub.subscribe(EventHub.Filter(events: ["state"])).makeAsyncIterator()
    let session = try await session(first.port, hub, TemporaryDirectory())
    var causes: [Failure.Name] = []
    var logins = 0
    while logins < 2, let event = await events.next() {
      guard case .state(let change) = event.body else { continue }
      if change.state == .loginOK { logins += 1 }
      if change.state == .linkFailed, let cause = change.cause { causes.append(cause.name) }
    }
    #expect(causes == [.tlsFailure])
    #expect(evil.connections == 1)
    #expect(!evil.received.contains("<auth"))
    await session.close()
    try await first.end()
    try await evil.end()
  }
}
