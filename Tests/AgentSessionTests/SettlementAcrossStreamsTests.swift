import AgentProtocol
import TestSupport
import Testing

@testable import AgentSession

/// What was handed to a stream, where the one after it ends before it was asked what has become of that.
@Suite("Messages over more than one lost stream", .timeLimit(.minutes(4)))
struct SettlementAcrossStreamsTests {
  private typealias Steps = [ScriptedServer.Step]

  private static let management = "<sm xmlns='urn:xmpp:sm:3'/>"

  private static func enabled(_ id: String) -> String {
    "<enabled xmlns='urn:xmpp:sm:3' id='\(id)' resume='true'/>"
  }

  private static let question = ScriptedServer.Step.client("<r xmlns='urn:xmpp:sm:3'/>")

  /// What a session that ``enabled(_:)`` begins asks for, up to the acknowledgement of that.
  private static func synced(_ id: String) -> Steps {
    .counted(enabled: enabled(id)) + .answered + [.server("<a xmlns='urn:xmpp:sm:3' h='5'/>")]
  }

  /// A login that is not given the session it asks for, up to the resource that it binds instead.
  private static func refused(_ earlier: String) -> Steps {
    var steps: Steps = .login(until: .bound, features: management, jid: SessionDesk.jid + "/scripted")
    let place = steps.count - 2
    steps.insert(
      contentsOf: [
        .client("<resume xmlns='urn:xmpp:sm:3' previd='\(earlier)' h='*'/>"),
        .server(
          "<failed xmlns='urn:xmpp:sm:3'><item-not-found xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></failed>"
        ),
      ], at: place)
    return steps
  }

  @Test(
    "A message that two lost streams left unacknowledged is sent on the third, and stays in the outbox.")
  func unsettled() async throws {
    let first: Steps =
      .login(until: .bound, features: Self.management, jid: SessionDesk.jid + "/scripted")
      + Self.synced("s1") + [.client("<presence/>"), Self.question, .client("<message id='m1'/>"), .reset]
    let second: Steps =
      Self.refused("s1") + [
        .client("<enable xmlns='urn:xmpp:sm:3' resume='true'/>"), .server(Self.enabled("s2")),
        .client("<iq type='get' id='{roster}'/>"), .reset,
      ]
    let third: Steps = Self.refused("s2") + Self.synced("s3")
    let desk = try await SessionDesk([first, second, third])
    _ = try await desk.session.login(try await desk.parameters())
    try await desk.until("its presence") { _ in desk.server.received.contains("<show>away</show>") }
    try await desk.send("m1")
    try await desk.until("it on the third stream") { _ in
      desk.server.received(connection: 3).contains("id='m1'")
    }
    #expect(await desk.session.perform { await $0.messages.outbox.flush(within: 0) } == 1)
    #expect(desk.server.mismatches == [])
    await desk.session.close()
    #expect(await desk.lawless == [])
  }
}
