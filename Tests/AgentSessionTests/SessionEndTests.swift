import AgentProtocol
import TestSupport
import Testing
import XMPPStanza

@testable import AgentSession

@Suite("The last messages of a session", .timeLimit(.minutes(4)))
struct SessionEndTests {
  private typealias Steps = [ScriptedServer.Step]

  private static let question = ScriptedServer.Step.client("<r xmlns='urn:xmpp:sm:3'/>")
  private static let farewell: Steps = [
    .client("<presence type='unavailable'/>"), .server("</stream:stream>"), .close,
  ]

  /// A login at a server that counts stanzas, up to what it is first asked.
  private static let counted: Steps =
    .login(until: .bound, features: "<sm xmlns='urn:xmpp:sm:3'/>", jid: SessionDesk.jid + "/scripted")
    + .counted(enabled: "<enabled xmlns='urn:xmpp:sm:3'/>")

  private static func acknowledgement(_ count: Int) -> ScriptedServer.Step {
    .server("<a xmlns='urn:xmpp:sm:3' h='\(count)'/>")
  }

  @Test("A session that ends waits until a slow server has acknowledged its last message.")
  func slowServer() async throws {
    let desk = try await SessionDesk([
      Self.counted + .answered + [Self.acknowledgement(5), .client("<presence/>"), Self.question]
        + [.client("<message id='m1'/>"), .client("<presence/>"), Self.acknowledgement(8)] + Self.farewell
    ])
    let session = desk.session
    _ = try await session.login(try await desk.parameters())
    try await desk.until("its presence") { _ in desk.server.received.contains("<show>away</show>") }
    try await desk.send("m1")
    let end = Task { await session.close() }
    try await session.prod()
    await end.value
    #expect(await session.perform { await $0.messages.outbox.flush(within: 0) } == 0)
    #expect(desk.server.mismatches == [])
    #expect(await desk.lawless == [])
  }

  @Test(
    "A message that is sent after the session has ended waits for the next agent, but not after a logout."
  )
  func endingAgent() async throws {
    let desk = try await SessionDesk([
      Self.counted + .answered + [Self.acknowledgement(5), .client("<presence/>")]
    ])
    let session = desk.session
    _ = try await session.login(try await desk.parameters())
    try await desk.until("its presence") { _ in desk.server.received.contains("<show>away</show>") }
    await session.close()
    try await desk.send("m1")
    #expect(try await session.perform { try await $0.messages.outbox.list() }.map(\.id) == ["m1"])
    // Whoever has logged out is told so.
    _ = try await session.logout(LogoutMethod.Parameters(account: nil))
    await #expect(throws: Failure(.notLoggedIn, stage: .request, detail: .text(SessionDesk.jid))) {
      try await desk.send("m2")
    }
  }

  @Test(
    "A session that ends before it is synchronised still sends the messages that it has accepted.",
    arguments: [false, true])
  func notSynced(isLogout: Bool) async throws {
    let late: Steps = [.client("<message id='m1'/>"), .client("<presence/>")]
    let answers: Steps = .answered + [Self.acknowledgement(7)]
    let scripts: [Steps] = [
      Self.counted + .answered + [Self.acknowledgement(5), .client("<presence/>"), .close],
      // Its roster is late.
      Self.counted + late + answers + Self.farewell,
    ]
    let desk = try await SessionDesk(scripts, sessions: 1)
    let session = desk.session
    _ = try await session.login(try await desk.parameters())
    try await desk.until("its return") { changes in changes.last?.state == .syncing && changes.count > 5 }
    try await desk.until("its question") { _ in desk.server.received(connection: 2).contains("disco#info") }
    try await desk.send("m1")
    let end = Task {
      if isLogout {
        _ = try await session.logout(LogoutMethod.Parameters(account: nil))
      } else {
        await session.close()
      }
    }
    try await session.prod()
    try await end.value
    #expect(await session.perform { await $0.messages.outbox.flush(within: 0) } == 0)
    #expect(desk.server.mismatches == [])
    #expect(await desk.lawless == [])
  }
}

extension Session {
  /// Sends a presence, which the server waits for, when the session has been ending for a while: it must not have given
  /// up by then. Its patience is measured by the server's answers, for which there is no clock to inject.
  fileprivate func prod() async throws {
    try await Task.sleep(for: .seconds(3))
    try await online?.stream.send([Presence().element])
  }
}
