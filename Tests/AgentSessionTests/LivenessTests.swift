import AgentProtocol
import Logging
import TestSupport
import Testing
import XMPPStanza

@testable import AgentService
@testable import AgentSession
@testable import AgentStore

@Suite struct LivenessTests {
  @Test("A server without stream management is pinged, and the session comes back if it does not answer.")
  func ping() async throws {
    let desk = try await SessionDesk(
      [
        .session(then: [
          .client("<iq type='get' id='{ping}'><ping xmlns='urn:xmpp:ping'/></iq>"), .stall,
        ]), .session(),
      ], patience: SessionPatience(keepAlive: .seconds(2)))
    _ = try await desk.session.login(try await desk.parameters())
    try await desk.until("its loss") { $0.contains { $0.state == .loseConnection } }
    #expect(desk.changes.first { $0.state == .loseConnection }?.cause?.name == .networkError)
    #expect(desk.server.received(connection: 1).contains("urn:xmpp:ping"))
    #expect(desk.server.mismatches == [])
    try await desk.until("its return") { changes in changes.count { $0.state == .syncOK } >= 2 }
    await desk.session.close()
    #expect(await desk.lawless == [])
  }

  @Test("A session notices that its server no longer answers, and comes back when the server answers again.")
  func frozen() async throws {
    let server = try await TestServer(TestServer.Options(.prosody))
    let home = try TemporaryDirectory()
    let hub = EventHub(cursor: 0)
    let session = try Session(
      server.jid("alice"), home: home, hub: hub, patience: SessionPatience(keepAlive: .seconds(1)))
    _ = try await session.login(.init(on: server))

    var events = hub.subscribe(EventHub.Filter(events: ["state"])).makeAsyncIterator()
    try await server.freeze()
    var cause: Failure?
    while cause == nil, let event = await events.next() {
      if case .state(let change) = event.body, change.state == .loseConnection { cause = change.cause }
    }
    #expect(cause?.name == .networkError)
    try await server.thaw()
    while let event = await events.next() {
      if case .state(let change) = event.body, change.state == .syncOK { break }
    }
    await session.close()
    try await server.end()
  }
}
