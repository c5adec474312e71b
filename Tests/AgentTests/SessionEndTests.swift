import AgentProtocol
import TestSupport
import Testing

@testable import Agent

@Suite("A session that ends", .timeLimit(.minutes(4)))
struct SessionEndTests {
  private static let management = "<sm xmlns='urn:xmpp:sm:3'/>"
  private static let question = ScriptedServer.Step.client("<r xmlns='urn:xmpp:sm:3'/>")

  private static func message(_ id: String) -> MessageSendMethod.Parameters {
    var sending = MessageSendMethod.Parameters(account: nil, messages: [])
    sending.messages = [OutgoingMessage(to: "bob@\(TestServer.domain)", body: "hello")]
    sending.messages[0].id = id
    sending.wait = .none
    return sending
  }

  @Test("waits for a server that takes its time with what was sent.")
  func slowServer() async throws {
    let synced = [ScriptedServer.Step].synced
    let desk = try await SessionDesk([
      .login(until: .bound, features: Self.management, jid: SessionDesk.jid + "/scripted")
        + [
          .client("<enable xmlns='urn:xmpp:sm:3' resume='true'/>"),
          .server("<enabled xmlns='urn:xmpp:sm:3' id='s1' resume='true'/>"),
        ] + synced[..<4] + [Self.question] + synced[4...]
        + [
          .server("<a xmlns='urn:xmpp:sm:3' h='5'/>"), .client("<presence/>"), Self.question,
          .client("<message id='m1'/>"), .client("<presence/>"), .server("<a xmlns='urn:xmpp:sm:3' h='8'/>"),
          .client("<presence type='unavailable'/>"), .server("</stream:stream>"), .close,
        ]
    ])
    let session = desk.session
    _ = try await session.login(try await desk.parameters())
    try await desk.until("its presence") { _ in desk.server.received.contains("<show>away</show>") }
    _ = try await session.send(Self.message("m1")).outcome()
    let end = Task { await session.close() }
    // The server says nothing until this has come.
    try await Task.sleep(for: .seconds(3))
    let busy = PresenceSetMethod.Parameters(account: nil, show: .dnd)
    _ = try await session.setPresence(busy, by: ClientHandle(id: 0))
    await end.value
    #expect(await session.flushOutbox(within: 0) == 0)
    #expect(desk.server.mismatches == [])
    #expect(desk.lawless == [])
  }
}
