import AgentProtocol
import GRDB
import TestSupport
import Testing
import XMPPFeatures
import XMPPStanza
import XMPPXML

@testable import AgentSession
@testable import AgentStore

@Suite("Receipts, markers and refusals of messages", .timeLimit(.minutes(4))) struct MessageReceiptTests {
  private let desk: MessageDesk

  init() throws { desk = try MessageDesk() }

  @Test("A receipt, a marker and a refusal are each published once, and replayed from the store.")
  func receipts() async throws {
    try await desk.send("1")
    let bob = "bob@im.example/x"
    let marker = "<message from='\(bob)'><displayed xmlns='urn:xmpp:chat-markers:0' id='1'/></message>"
    let error =
      "<message from='bob@im.example' type='error' id='1'><error type='cancel'>"
      + "<service-unavailable xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error></message>"
    let first = try await desk.take(
      desk.received("1", from: bob), desk.received("1", from: "bob@im.example/other"), marker)
    #expect(desk.receipts(first.events).map(\.kind) == [.delivered, .displayed])
    #expect(desk.receipts(first.events).map(\.from) == [bob, bob])
    let refused = try await desk.take(error, marker)
    #expect(desk.receipts(refused.events).map(\.kind) == [.failed])
    #expect(desk.receipts(refused.events).first?.condition == "service-unavailable")
    let all = try await desk.store.replay(after: 0, until: 1000, account: nil).events
    #expect(desk.receipts(all).map(\.kind) == [.server, .delivered, .displayed, .failed])
    #expect(all.map(\.cursor) == all.map(\.cursor).sorted())
    // From the cursor of the message on its receipt by the server is the next.
    let rest = try await desk.store.replay(after: all[0].cursor, until: 1000, account: nil).events
    #expect(rest == Array(all[1...]))
    let again = OutboxMessage(id: "1", to: try JID("bob@im.example"), body: "x", accepted: 5)
    let accepted = try await desk.store.change {
      try again.accept("alice@im.example", own: "alice@im.example", $0)
    }
    guard case .sent(let last) = accepted else { throw CancellationError() }
    #expect(last?.kind == .failed)
  }

  @Test("A refusal is published with its reason, and the history shows that reason with the refused message.")
  func refusal() async throws {
    for (id, isAcknowledged) in [("1", true), ("2", false)] {
      try await desk.send(id, isAcknowledged: isAcknowledged)
      let outcome = try await desk.take(
        "<message from='bob@im.example' type='error' id='\(id)'><error type='cancel'>"
          + "<item-not-found xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/>"
          + "<text xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'>moved</text></error></message>")
      let reason = MessageEvent.Refusal(condition: "item-not-found", text: "moved")
      let bounce = try #require(outcome.events.compactMap(\.message).first { $0.type == "error" })
      #expect(bounce.error == reason && bounce.id == id)
      let history = try #require(try LocalHistory(path: desk.directory.paths.database))
      var told: [MessageEvent] = []
      try history.read(HistoryQuery(account: "alice@im.example")) { told += [$0.message].compactMap(\.self) }
      let sent = try #require(told.first { $0.id == id && $0.direction == .out })
      #expect(sent.error == reason)
    }
    // Somebody else's word is no reason.
    try await desk.send("3")
    try await desk.take(
      "<message from='mallory@evil.example' type='error' id='3'><error type='cancel'/></message>")
    let told = try await desk.store.replay(after: 0, until: 1000, account: nil).events.compactMap(\.message)
    #expect(told.first { $0.id == "3" && $0.direction == .out }?.error == nil)
  }

  @Test(
    "An error that answers a kick notice, a receipt or anything else that is not a message is not stored.")
  func strayErrors() async throws {
    let error =
      "<error type='cancel'><service-unavailable xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error>"
    let notice = KickNotice(name: "laptop", platform: nil, ext: nil).message(
      to: try desk.own.with(resource: "x"))
    let kick = try #require(notice.first("kick", "urn:imctl:kick:0"))
    let outcome = try await desk.take([
      .arrived(
        Message(
          type: .error, to: desk.own, from: try desk.own.with(resource: "x"), id: notice.id,
          payload: [kick, try #require(try TestSupport.message("<message>\(error)</message>").payload.first)])
      ),
      .arrived(
        try TestSupport.message("<message type='error' from='alice@im.example/x' id='k1'>\(error)</message>")),
      .arrived(
        try TestSupport.message("<message type='error' from='bob@im.example/x' id='r1'>\(error)</message>")),
      .handled(3),
    ])
    #expect(outcome.events.isEmpty && outcome.settled.isEmpty)
    let left = try await desk.store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM messages") }
    #expect(left == 0)
    let own = desk.own.bare.description
    #expect(try await desk.store.read { try StoredConversations.list(own, $0) }.isEmpty)
  }

  @Test("A receipt that arrives before the server's acknowledgement settles the message.")
  func early() async throws {
    try await desk.send("1", isAcknowledged: false)
    let outcome = try await desk.take(desk.received("1", from: "bob@im.example/x"))
    #expect(outcome.settled == ["1"])
    #expect(outcome.events.map(\.name) == ["message", "receipt", "receipt"])
    #expect(desk.receipts(outcome.events).map(\.kind) == [.server, .delivered])
    #expect(try await desk.take([.acknowledged("1")]).events.isEmpty)
  }

  @Test(
    "A receipt, a marker or an error from anybody but the recipient is ignored.",
    arguments: [true, false])
  func forgedReceipts(isAcknowledged: Bool) async throws {
    try await desk.send("1", isAcknowledged: isAcknowledged)
    let error = "<error type='cancel'/>"
    let carbon =
      "<message from='mallory@evil.example'><received xmlns='urn:xmpp:carbons:2'><forwarded "
      + "xmlns='urn:xmpp:forward:0'><message xmlns='jabber:client' to='alice@im.example' from='bob@im.example'>"
      + "<received xmlns='urn:xmpp:receipts' id='1'/></message></forwarded></received></message>"
    let outcome = try await desk.take(
      desk.received("1", from: "mallory@evil.example/x"), desk.received("2", from: "bob@im.example"),
      "<message from='bob@im.example.evil'><displayed xmlns='urn:xmpp:chat-markers:0' id='1'/></message>",
      "<message from='bob@im.example/x' type='groupchat'><displayed xmlns='urn:xmpp:chat-markers:0' id='1'/></message>",
      carbon)
    #expect(outcome.events.isEmpty && outcome.settled.isEmpty && outcome.receipts.isEmpty)
    // The message itself is told, but as what it is: somebody else's.
    let refusal = try await desk.take(
      "<message from='mallory@evil.example' type='error' id='1'>\(error)</message>")
    #expect(desk.receipts(refusal.events).isEmpty && refusal.settled.isEmpty)
  }

  @Test("A marker that another device of the account sends is no receipt for the account.")
  func ownReceipts() async throws {
    try await desk.send("1", to: "bob@im.example")
    let sent =
      "<message from='alice@im.example'><sent xmlns='urn:xmpp:carbons:2'><forwarded xmlns='urn:xmpp:forward:0'>"
      + "<message xmlns='jabber:client' to='bob@im.example' from='alice@im.example/phone'>"
      + "<displayed xmlns='urn:xmpp:chat-markers:0' id='1'/></message></forwarded></sent></message>"
    #expect(try await desk.take(sent).events.isEmpty)
  }

  @Test(
    "A receipt is sent once for each stored message from a known contact, and never for a carbon copy."
  )
  func answers() async throws {
    func asking(_ id: String, from: String = "bob@im.example/x") -> String {
      "<message from='\(from)' to='alice@im.example' id='\(id)' type='chat'><body>x</body>"
        + "<origin-id xmlns='urn:xmpp:sid:0' id='\(id)'/><request xmlns='urn:xmpp:receipts'/></message>"
    }
    #expect(try await desk.take(asking("before")).answers().isEmpty)
    try await desk.send("1")
    let answered = try await desk.take(asking("2"), asking("2"), asking("3", from: "mallory@evil.example/x"))
    #expect(answered.answers().compactMap(Message.init).map(Receipts.confirmed) == ["2"])
    #expect(try answered.answers().compactMap(Message.init).map(\.to) == [JID("bob@im.example/x")])
    let inner = asking("4").replacing("<message ", with: "<message xmlns='jabber:client' ")
    let copy = try await desk.take(
      "<message from='alice@im.example'><received xmlns='urn:xmpp:carbons:2'><forwarded "
        + "xmlns='urn:xmpp:forward:0'>\(inner)</forwarded></received></message>")
    #expect(copy.events.count == 1 && !copy.hasAnswers)
  }

  @Test(
    "After the migration of an old database, receipts are sent to the contacts that the account had written to."
  )
  func migration() async throws {
    let path = desk.directory.path + "/old.sqlite"
    do {
      let queue = try DatabaseQueue(path: path)
      try Schema.migrator().migrate(queue, upTo: "messages")
      try await queue.write { database in
        try database.execute(
          sql: """
            INSERT INTO messages VALUES (1, 'a@b', 1, 'a@b', 1, '1', '1', NULL, 'a@b', 'bob@im.example/x', 'chat',
              'x', NULL, NULL, 0, 0, 0), (2, 'a@b', 0, 'c@d', 1, '2', NULL, NULL, 'c@d', 'a@b', 'chat', 'y', NULL,
              NULL, 0, 0, 0)
            """)
      }
      try Schema.migrator().migrate(queue)
      try await queue.read { database in
        let kept = Addressees(of: "a@b")
        #expect(try kept.contains(JID("bob@im.example"), database))
        #expect(try !kept.contains(JID("c@d"), database))
        let recipient = try StoredMessage.recipient(of: "1", "a@b", own: "a@b", database)
        #expect(try recipient == JID("bob@im.example/x"))
        #expect(try StoredMessage.isKnown("2", of: "c@d", "a@b", database))
      }
    }
  }
}
