import AgentProtocol
import GRDB
import TestSupport
import Testing
import XMPPStanza
import XMPPXML

@testable import AgentSession
@testable import AgentStore

@Suite("The contacts of a session", .timeLimit(.minutes(6)))
struct SessionContactsTests {
  private static let own = SessionDesk.jid
  private static let ver = "<ver xmlns='urn:xmpp:features:rosterver'/>"

  /// The beginning of a session, with these answers.
  private static func begin(_ roster: String, version: String, then more: String = "", blocked: String = "")
    -> [ScriptedServer.Step]
  {
    .login(until: .bound, features: ver, jid: own + "/scripted") + [
      .client("<iq type='get' id='{roster}'><query xmlns='jabber:iq:roster' ver='\(version)'/></iq>"),
      .client("<iq type='set' id='{carbons}'/>"),
      .client("<iq type='get' id='{blocked}'><blocklist xmlns='urn:xmpp:blocking'/></iq>"),
      .client("<presence/>"), .client("<iq type='get' id='{features}'/>"),
      .server(
        "<iq type='result' id='{roster}'>\(roster)</iq><iq type='error' id='{carbons}'/>" + more
          + "<iq type='result' id='{blocked}'><blocklist xmlns='urn:xmpp:blocking'>\(blocked)</blocklist></iq>"
      ),
      .server("<iq type='error' id='{features}'/>"),
    ]
  }

  private static func push(_ item: String, id: String, from: String? = nil, version: String = "") -> String {
    "<iq type='set' id='\(id)'\(from.map { " from='\($0)'" } ?? "")><query xmlns='jabber:iq:roster' ver='\(version)'>"
      + "\(item)</query></iq>"
  }

  private func told(_ desk: SessionDesk) -> [String] {
    desk.events.compactMap { event in
      guard case .contact(let contact) = event.body else { return nil }
      return "\(contact.action.rawValue) \(contact.jid)"
    }
  }

  @Test(
    "A login reports the parts to synchronise and their counts once, without parts that the server lacks."
  )
  func counts() async throws {
    let roster =
      "<query xmlns='jabber:iq:roster' ver='v1'><item jid='bob@im.example' subscription='both'/></query>"
    let full = Self.begin(
      roster, version: "", blocked: "<item jid='spam.example'/><item jid='evil.example'/>")
    let poor = [ScriptedServer.Step].session()
    for (script, counts) in [
      (full, [SyncPart.roster: 1, .blocklist: 2, .offline: 0, .notices: 0]),
      (poor, [.roster: 0, .offline: 0, .notices: 0]),
    ] {
      let desk = try await SessionDesk([script])
      _ = try await desk.session.login(try await desk.parameters())
      try await desk.until("its beginning") { $0.last?.state == .syncOK }
      #expect(desk.changes.map(\.parts).compactMap(\.self) == [SyncPart.allCases])
      #expect(desk.changes.map(\.counts).compactMap(\.self) == [counts])
      #expect(desk.changes.filter { $0.parts != nil }.map(\.state) == [.syncing])
      #expect(desk.changes.compactMap(\.late) == [])
      #expect(desk.changes.filter { $0.counts != nil }.map(\.state) == [.syncOK])
      await desk.session.close()
    }
  }

  @Test(
    "Changes that arrive early wait for the roster, forged pushes are refused, and the roster version is stored.",
    .timeLimit(.minutes(4)))
  func order() async throws {
    let roster =
      "<query xmlns='jabber:iq:roster' ver='v5'><item jid='bob@im.example' subscription='both' name='Old'/>"
      + "<item jid='@@'/></query>"
    // All in one packet with the answer.
    let early =
      Self.push("<item jid='bob@im.example' subscription='both' name='New'/>", id: "p1", version: "v6")
      + "<presence from='bob@im.example/x'><show>dnd</show></presence><presence from='eve@x.example/x'/>"
      + "<presence type='subscribe' from='carol@im.example'><status>hi</status></presence>"
    let hostile = [
      Self.push("<item jid='evil@x.example'/>", id: "f1", from: "mallory@x.example"),
      Self.push("<item jid='evil@x.example'/>", id: "f2", from: "im.example"),
      Self.push("<item jid='evil@x.example'/>", id: "f3", from: Self.own + "/scripted"),
      Self.push("<item jid='evil@x.example'/><item jid='evil2@x.example'/>", id: "f4"),
      Self.push("<item jid='@'/>", id: "f5"), Self.push("", id: "f6"),
      "<iq type='set' id='f7' from='mallory@x.example'><unblock xmlns='urn:xmpp:blocking'/></iq>",
    ].joined()
    let refusals = (1...7).map { ScriptedServer.Step.client("<iq type='error' id='f\($0)'/>") }
    let first =
      Self.begin(roster, version: "", then: early, blocked: "<item jid='spam.example'/>") + [
        .client("<iq type='result' id='p1'/>"), .client("<presence/>"), .server(hostile),
      ] + refusals + [
        .server(Self.push("<item jid='dan@im.example' subscription='none'/>", id: "p2", version: "v7")),
        .client("<iq type='result' id='p2'/>"),
      ]
    let second = Self.begin("", version: "v7", blocked: "<item jid='spam.example'/>")
    let desk = try await SessionDesk([first, second])
    _ = try await desk.session.login(try await desk.parameters())
    try await desk.server.finished()
    try await eventuallyTold(by: desk) { $0.contains("add dan@im.example") }
    #expect(desk.server.mismatches == [])
    #expect(told(desk) == ["update bob@im.example", "request carol@im.example", "add dan@im.example"])
    let listed = try await desk.session.perform { try await $0.contacts.list(after: nil) }
    #expect(!listed.stale)
    #expect(listed.contacts.map(\.jid) == ["bob@im.example", "dan@im.example"])
    #expect(listed.contacts.first?.name == "New")
    #expect(
      listed.contacts.first?.presence == [
        ContactPresence(resource: "x", show: .dnd, status: nil, priority: 0)
      ])
    #expect(
      try await desk.session.perform { try await $0.contacts.listRequests() }.requests.map(\.text) == ["hi"])
    #expect(
      try await desk.session.perform { try await $0.contacts.listBlocked() }.blocked.map(\.jid) == [
        "spam.example"
      ])
    await desk.session.close()
    let offline = try await desk.session.perform { try await $0.contacts.list(after: nil) }
    #expect(offline.stale && offline.contacts.count == 2 && offline.contacts.allSatisfy(\.presence.isEmpty))
    let change = ContactsChangeMethod.Parameters(account: nil, .remove, jid: "bob@im.example")
    let failure = await #expect(throws: Failure.self) {
      try await desk.session.perform { try await $0.contacts.change(change) }
    }
    #expect(failure?.exit == 67)

    // Another agent, on what this one has stored.
    let next = try await SessionDesk([second], home: desk.home)
    _ = try await next.session.login(try await next.parameters())
    try await next.until("the session") { $0.last?.state == .syncOK }
    #expect(next.server.mismatches == [])
    let kept = try await next.session.perform { try await $0.contacts.list(after: nil) }
    #expect(!kept.stale && kept.contacts.map(\.name) == ["New", nil])
    // Nobody has asked again: it was declined elsewhere.
    try await eventuallyTold(by: next) { $0 == ["decline carol@im.example"] }
    #expect(try await next.session.perform { try await $0.contacts.listRequests() }.requests == [])
    await next.session.close()
  }

  @Test(
    "An approval that the account has not requested changes nothing, causes no event, and is counted.")
  func unaskedApproval() async throws {
    let roster =
      "<query xmlns='jabber:iq:roster' ver='v1'><item jid='bob@im.example' subscription='none' ask='subscribe'/>"
      + "<item jid='carol@im.example' subscription='from'/></query>"
    let approvals = ["mallory@evil.example", "carol@im.example", "bob@im.example"]
      .map { "<presence type='subscribed' from='\($0)'/>" }.joined()
    let desk = try await SessionDesk([
      Self.begin(roster, version: "") + [
        .client("<presence/>"), .server(approvals),
        .server(
          Self.push("<item jid='bob@im.example' subscription='to'/>", id: "p1", version: "v2")),
        .client("<iq type='result' id='p1'/>"),
      ]
    ])
    _ = try await desk.session.login(try await desk.parameters())
    try await eventuallyTold(by: desk) { !$0.isEmpty }
    #expect(told(desk) == ["subscribed bob@im.example"])
    #expect(await desk.session.currentStatus().refused == ["approval": 2])
    let listed = try await desk.session.perform { try await $0.contacts.list(after: nil) }
    #expect(listed.contacts.map(\.jid) == ["bob@im.example", "carol@im.example"])
    #expect(listed.contacts.map(\.subscription) == ["to", "from"])
    #expect(desk.server.mismatches == [])
    await desk.session.close()
  }

  @Test("Roster pushes that arrive together are stored together, and none is lost.")
  func together() async throws {
    let count = 2 * ContactArrivals.maximumTogether
    let desk = try await SessionDesk([[]])
    let writes = try RosterWrites(desk.home.path + "/messages/imctl.sqlite")
    let pushes = (1...count).map { number in
      IQ(
        type: .set, id: "p\(number)",
        payload: [
          XMLElement(
            "query", namespace: Namespaces.roster, attributes: ["ver": "w\(number)"],
            children: [
              XMLElement(
                "item", namespace: Namespaces.roster,
                attributes: ["jid": "c\(number)@im.example", "subscription": "from"])
            ])
        ])
    }
    await desk.session.perform { await $0.contacts.receive(pushes.map { .push($0) }) }
    #expect(try writes.count() == 2)
    try await eventuallyTold(by: desk) { $0.count == 2 * count }
    #expect(try writes.version() == "w\(count)")
    #expect(try writes.contacts() == count)
  }

  @Test("A server without a roster and a blocklist causes no error.")
  func nothing() async throws {
    let desk = try await SessionDesk([.session()])
    _ = try await desk.session.login(try await desk.parameters())
    try await desk.until("the session") { $0.last?.state == .syncOK }
    #expect(try await desk.session.perform { try await $0.contacts.list(after: nil) }.contacts == [])
    await desk.session.close()
  }

  private func eventuallyTold(by desk: SessionDesk, _ holds: ([String]) -> Bool) async throws {
    try await eventually("what the server is told") {
      holds(told(desk))
    } failure: {
      ": \(told(desk)), \(desk.server.mismatches), \(desk.changes.map(\.state))"
    }
  }
}

/// Counts the transactions that change an account's roster: each writes its version once.
private struct RosterWrites {
  private let database: DatabaseQueue

  init(_ path: String) throws {
    database = try DatabaseQueue(path: path)
    try database.write {
      try $0.execute(
        sql: """
          CREATE TABLE rosterWrites (account TEXT);
          CREATE TRIGGER rosterWritten AFTER INSERT ON rosters BEGIN
            INSERT INTO rosterWrites VALUES (new.account);
          END
          """)
    }
  }

  /// The version of the roster that is stored.
  func version() throws -> String? {
    try database.read { try String.fetchOne($0, sql: "SELECT version FROM rosters") }
  }

  /// How many contacts are stored.
  func contacts() throws -> Int? {
    try database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM contacts") }
  }

  func count() throws -> Int {
    try database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM rosterWrites") ?? 0 }
  }
}
