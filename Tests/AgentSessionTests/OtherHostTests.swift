import AgentProtocol
import Logging
import TestSupport
import Testing
import XMPP
import XMPPStanza

@testable import AgentService
@testable import AgentSession
@testable import AgentStore

@Suite("Sessions that their server sends to another host", .timeLimit(.minutes(6)))
struct OtherHostTests {
  /// The stream of a session ends as it does when its server sends it elsewhere.
  private func send(_ session: Session, to port: Int) async {
    let error = StreamError(.seeOtherHost, address: "\(TestServer.host):\(port)")
    await session.boundStream?.abort(XMPPError(streamError: error, phase: .online, stage: .stream))
  }

  private func session(_ port: Int, _ hub: EventHub, _ home: TemporaryDirectory) async throws -> Session {
    let session = try Session("alice@\(TestServer.domain)", home: home, hub: hub)
    _ = try await session.login(.init(port: port))
    return session
  }

  @Test("A session that is sent to another host comes back there.")
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

  /// What a server does to whom an honest one has sent to it.
  private static let bad: [[ScriptedServer.Step]] = [
    .login(until: .mechanisms),
    [.header, .features("<mechanisms xmlns='urn:ietf:params:xml:ns:xmpp-sasl'/>")],
    [.header, .server("hello")], [.header, .reset], [.stall],
  ]

  @Test(
    "A session that cannot be resumed at the host named for it comes back at the original host.",
    arguments: bad.indices)
  func location(_ index: Int) async throws {
    var options = ScriptedServer.Options()
    if index == 0 { options.certificate = try await TestAuthority.shared.certificate(for: ["evil.example"]) }
    let evil = try await ScriptedServer(Self.bad[index], options: options)
    let feature = "<sm xmlns='urn:xmpp:sm:3'/>"
    var first: [ScriptedServer.Step] =
      .login(until: .bound, features: feature, jid: SessionDesk.jid + "/scripted")
    let location = "location='\(TestServer.host):\(evil.port)'"
    first +=
      .counted(enabled: "<enabled xmlns='urn:xmpp:sm:3' id='s1' resume='true' \(location)/>") + .answered
    first += [.server("<a xmlns='urn:xmpp:sm:3' h='5'/>"), .client("<presence/>"), .reset]
    var second: [ScriptedServer.Step] =
      .login(until: .bound, features: feature, jid: SessionDesk.jid + "/scripted")
    second.insert(
      contentsOf: [
        .client("<resume xmlns='urn:xmpp:sm:3' previd='s1' h='*'/>"),
        .server("<failed xmlns='urn:xmpp:sm:3'/>"),
      ], at: second.count - 2)
    second += .counted(enabled: "<enabled xmlns='urn:xmpp:sm:3'/>") + .answered
    let desk = try await SessionDesk([first, second], sessions: 1)
    do { _ = try await desk.session.login(try await desk.parameters()) } catch {
      Issue.record("\(error): \(desk.server.mismatches)")
    }
    try await desk.until("its return") { changes in changes.count { $0.state == .syncOK } == 2 }
    #expect(evil.connections == 1 && desk.server.connections == 2)
    #expect(!evil.received.contains("<auth") && desk.kicks.isEmpty)
    #expect(desk.server.mismatches == [])
    await desk.session.close()
    #expect(await desk.lawless == [])
    try await evil.end()
  }

  @Test(
    "A session that is sent to a host without XMPP comes back at the original host."
  )
  func noServer() async throws {
    let evil = try await ScriptedServer([.header, .server("hello")])
    let away =
      "<stream:error><see-other-host xmlns='urn:ietf:params:xml:ns:xmpp-streams'>\(TestServer.host):\(evil.port)"
      + "</see-other-host></stream:error></stream:stream>"
    let desk = try await SessionDesk([.session(then: [.server(away), .close]), .session()])
    _ = try await desk.session.login(try await desk.parameters())
    try await desk.until("its return") { changes in changes.count { $0.state == .syncOK } == 2 }
    #expect(evil.connections == 1 && desk.server.connections == 2 && desk.kicks.isEmpty)
    await desk.session.close()
    #expect(await desk.lawless == [])
    try await evil.end()
  }

  @Test(
    "A session that is sent to a host with a foreign certificate refuses it, and comes back at the original one."
  )
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
