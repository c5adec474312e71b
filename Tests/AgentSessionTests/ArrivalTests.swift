import AgentProtocol
import GRDB
import TestSupport
import Testing

@testable import AgentSession

@Suite("Incoming stanzas of a session", .timeLimit(.minutes(4))) struct ArrivalTests {
  private static let bob = "bob@\(TestServer.domain)/x"

  private static func message(_ body: String, _ children: String = "") -> String {
    "<message from='\(bob)' to='\(SessionDesk.jid)' type='chat'><body>\(body)</body>\(children)</message>"
  }

  /// What was told of messages and presences, in the order of the cursors.
  private func told(_ desk: SessionDesk) -> [String] {
    desk.events.compactMap { event in
      switch event.body {
      case .message(let message): message.body
      case .presence(let presence): presence.show.rawValue
      default: nil
      }
    }
  }

  @Test("Messages and presences are published in the order in which they arrive.")
  func order() async throws {
    let presence = { (show: String) in "<presence from='\(Self.bob)'><show>\(show)</show></presence>" }
    let desk = try await SessionDesk([
      .session(then: [
        .server(
          Self.message("one") + presence("dnd") + Self.message("two") + presence("xa") + presence("chat")
            + Self.message("three") + presence("away"))
      ])
    ])
    _ = try await desk.session.login(try await desk.parameters())
    try await desk.until("the last of them") { told(desk).contains("away") }
    #expect(told(desk) == ["one", "dnd", "two", "xa", "chat", "three", "away"])
    await desk.session.close()
  }

  /// The beginning of a session whose server has answered nothing yet.
  private static let asked: [ScriptedServer.Step] =
    .login(until: .bound, jid: SessionDesk.jid + "/scripted") + [
      .client("<iq type='get' id='{roster}'/>"), .client("<iq type='set' id='{carbons}'/>"),
      .client("<iq type='get' id='{blocked}'/>"), .client("<presence/>"),
      .client("<iq type='get' id='{features}'/>"),
    ]
  private static let roster: [ScriptedServer.Step] = [
    .server(
      "<iq type='result' id='{roster}'><query xmlns='jabber:iq:roster'><item jid='bob@\(TestServer.domain)'"
        + " subscription='both'/></query></iq><iq type='error' id='{carbons}'/><iq type='error' id='{blocked}'/>"
    )
  ]

  private static func features(_ features: String...) -> ScriptedServer.Step {
    .server(
      "<iq type='result' id='{features}'><query xmlns='http://jabber.org/protocol/disco#info'>"
        + "<identity category='account' type='registered'/>"
        + features.map { "<feature var='\($0)'/>" }.joined() + "</query></iq>")
  }

  private static func archived(_ id: String) -> String {
    "<stanza-id xmlns='urn:xmpp:sid:0' by='\(SessionDesk.jid)' id='\(id)'/>"
  }

  /// What is kept of the archive's ids, in the order of the cursors.
  private func archiveIDs(_ desk: SessionDesk) async throws -> [String?] {
    try await desk.session.localStore.read {
      try Optional<String>.fetchAll($0, sql: "SELECT archiveID FROM messages ORDER BY cursor")
    }
  }

  private func login(_ desk: SessionDesk) async throws {
    var parameters = try await desk.parameters()
    parameters.noSync = true
    _ = try await desk.session.login(parameters)
  }

  /// Answers the server, which waits for this: what it has said up to now was told.
  private func showAway(_ desk: SessionDesk) async throws {
    let away = PresenceSetMethod.Parameters(account: nil, show: .away)
    _ = try await desk.session.perform { try await $0.presence.set(away) }
  }

  @Test(
    "Messages are published before archiving is confirmed, and their archive ids count once it is."
  )
  func unanswered() async throws {
    for (feature, ids, told) in [
      ("urn:xmpp:mam:2", ["a1"], ["one"]), ("urn:xmpp:other", [nil, nil], ["one", "two"]),
    ] {
      let desk = try await SessionDesk(
        [
          Self.asked + Self.roster + [
            .server(Self.message("one", Self.archived("a1"))),
            .client("<presence><show>away</show></presence>"), Self.features(feature),
            .server(Self.message(told.last ?? "", Self.archived("a1")) + "<presence from='\(Self.bob)'/>"),
          ]
        ], sessions: 0)
      try await login(desk)
      try await desk.until("the first message") { self.told(desk).contains("one") }
      #expect(
        desk.events.compactMap {
          if case .message(let message) = $0.body { message.stanzaId ?? "none" } else { nil }
        } == ["none"])
      try await showAway(desk)
      try await desk.until("the presence") { self.told(desk).contains("online") }
      #expect(self.told(desk) == told + ["online"], "\(feature)")
      try await desk.until("the ids") { () async throws in try await self.archiveIDs(desk) == ids }
      await desk.session.close()
    }
  }

  @Test(
    "Messages are published before the roster is known, while contact requests and receipts wait for it."
  )
  func unansweredRoster() async throws {
    let request = "<presence type='subscribe' from='carol@\(TestServer.domain)'/>"
    let asking = "<request xmlns='urn:xmpp:receipts'/><origin-id xmlns='urn:xmpp:sid:0' id='asking-1'/>"
    let desk = try await SessionDesk(
      [
        Self.asked + [
          .server(
            "<presence from='\(Self.bob)'><show>dnd</show></presence>" + request
              + Self.message("one", asking).replacing("type='chat'", with: "type='chat' id='asking-1'")),
          .client("<presence><show>away</show></presence>"),
        ] + Self.roster + [
          .client("<message to='\(Self.bob)'><received xmlns='urn:xmpp:receipts' id='asking-1'/></message>")
        ]
      ], sessions: 0)
    try await login(desk)
    try await desk.until("the message") { self.told(desk).contains("one") }
    #expect(self.told(desk) == ["dnd", "one"])
    #expect(!desk.events.contains { if case .contact = $0.body { true } else { false } })
    try await showAway(desk)
    try await desk.until("the request") {
      desk.events.contains {
        if case .contact(let contact) = $0.body { contact.action == .request } else { false }
      }
    }
    // The receipt tells that somebody is there: it waits until it is known that the asker is a contact.
    try await desk.server.finished()
    let contacts = try await desk.session.perform { try await $0.contacts.list(after: nil) }.contacts
    #expect(contacts.first?.presence.map(\.show) == [.dnd])
    await desk.session.close()
  }

  @Test(
    "Messages are sent before the server's features are known."
  )
  func sending() async throws {
    let desk = try await SessionDesk(
      [Self.asked + Self.roster + [.client("<message id='outgoing-1'/>")]], sessions: 0)
    try await login(desk)
    try await desk.send("outgoing-1")
    try await desk.server.finished()
    await desk.session.close()
  }
}
