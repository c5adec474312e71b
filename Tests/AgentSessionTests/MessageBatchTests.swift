import AgentProtocol
import GRDB
import TestSupport
import Testing
import XMPPFeatures
import XMPPStanza
import XMPPXML

@testable import AgentSession
@testable import AgentStore

/// What is told, settled and answered of what comes, with a local store and no server.
@Suite(.timeLimit(.minutes(4))) struct MessageBatchTests {
  private let directory: TemporaryDirectory
  private let store: LocalStore
  private let own: JID
  private let cursor = Counter()

  private actor Counter {
    var last: Int64 = 0
    func next(_ count: Int) -> Range<Int64> {
      defer { last += Int64(count) }
      return last + 1..<last + 1 + Int64(count)
    }
  }

  init() throws {
    directory = try TemporaryDirectory()
    store = try LocalStore(path: directory.paths.database)
    own = try JID("alice@im.example/desk")
  }

  private func element(_ xml: String) throws -> Message {
    let parser = XMLStreamParser()
    let head = "<stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams'>"
    for event in try parser.parse(Array((head + xml).utf8)) {
      if case .element(let element) = event, let message = Message(element) { return message }
    }
    throw CancellationError()
  }

  @discardableResult
  private func take(_ xml: String..., archiveIDs: ArchiveIDs = .ignored) async throws
    -> MessageBatch.Outcome
  {
    try await take(xml.map { .arrived(try element($0)) } + [.handled(1)], archiveIDs: archiveIDs)
  }

  private func take(
    _ items: [MessageItem], isCounted: Bool = true,
    archiveIDs: ArchiveIDs = .ignored
  ) async throws -> MessageBatch.Outcome {
    var reading: ArchiveReading?
    let batch = MessageBatch(
      items, isCounted: isCounted, account: own.bare, own: own, archiveIDs: archiveIDs, reading: &reading,
      now: 1_800_000_000)
    let cursors = await cursor.next(batch.maximumEvents)
    let outcome = try await store.change { try batch.store(under: cursors, $0) }
    #expect(outcome.events.count <= batch.maximumEvents)
    return outcome
  }

  /// Takes messages out of the archive.
  private func read(_ messages: [(id: String, xml: String)]) async throws -> MessageBatch.Outcome {
    var page = ArchivePage(.after(nil), maximum: 100)
    let found = try messages.compactMap { id, xml in
      let item = try element(
        "<message to='\(own)'><result xmlns='urn:xmpp:mam:2' queryid='\(page.id)' id='\(id)'><forwarded "
          + "xmlns='urn:xmpp:forward:0'><delay xmlns='urn:xmpp:delay' stamp='2027-01-15T08:00:00Z'/>"
          + "\(xml)</forwarded></result></message>")
      return page.collect(item, own: own).result.flatMap { IncomingMessage($0, own: own) }
    }
    #expect(found.count == messages.count)
    let batch = MessageBatch(archived: found, account: own.bare, own: own, now: 1_800_000_000)
    let cursors = await cursor.next(batch.maximumEvents)
    return try await store.change { try batch.store(under: cursors, $0) }
  }

  /// Sends to bob under an id; acknowledged unless it is to wait.
  private func send(_ id: String, to: String = "bob@im.example", isAcknowledged: Bool = true) async throws {
    let message = OutboxMessage(id: id, to: try JID(to), body: "x", accepted: 5)
    try await store.change { _ = try message.accept("alice@im.example", own: "alice@im.example", $0) }
    if isAcknowledged { _ = try await take([.acknowledged(id)]) }
  }

  @Test("What has come last comes again of a server that counts, and of no other.", arguments: [true, false])
  func atTheEnd(isCounted: Bool) async throws {
    let message = "<message from='bob@im.example/x' type='chat'><body>hello</body></message>"
    let outcome = try await take([.arrived(try element(message)), .ended], isCounted: isCounted)
    #expect(outcome.events.count == (isCounted ? 0 : 1))
  }

  @Test("What was read of a page of the archive and not stored has not been read.")
  func unread() throws {
    var reading: ArchiveReading? = .init(page: ArchivePage(.after(nil), maximum: 1), isKept: true)
    let page = try #require(reading?.page.id)
    let result = """
      <message to='alice@im.example/desk'><result xmlns='urn:xmpp:mam:2' queryid='\(page)' id='a1'>\
      <forwarded xmlns='urn:xmpp:forward:0'><message xmlns='jabber:client' from='bob@im.example/x' \
      type='chat'><body>hello</body></message></forwarded></result></message>
      """
    let fin = IQ(
      type: .result, id: "x",
      payload: [
        XMLElement(
          "fin", namespace: "urn:xmpp:mam:2", attributes: ["complete": "true"],
          children: [
            XMLElement(
              "set", namespace: "http://jabber.org/protocol/rsm",
              children: [
                XMLElement("first", namespace: "http://jabber.org/protocol/rsm", text: "a1"),
                XMLElement("last", namespace: "http://jabber.org/protocol/rsm", text: "a1"),
              ])
          ])
      ])
    let arrived = MessageItem.arrived(try element(result))
    func batch(_ reading: inout ArchiveReading?) -> MessageBatch {
      MessageBatch(
        [arrived], account: own.bare, own: own, archiveIDs: .confirmed, reading: &reading, now: 1_800_000_000)
    }
    // It fails to be stored, and meanwhile the page ends.
    var failed = reading
    #expect(batch(&failed).hasMessages)
    #expect(reading?.page.ended(with: fin) == true)
    #expect(reading?.page.isComplete == false)
    var stored = reading
    #expect(batch(&stored).hasMessages)
    if let stored { reading?.merge(stored) }
    #expect(reading?.page.isComplete == true)
  }

  private func receipts(_ events: [Event]) -> [ReceiptEvent] {
    events.compactMap { if case .receipt(let receipt) = $0.body { receipt } else { nil } }
  }

  private func received(_ id: String, from: String, _ attributes: String = "") -> String {
    "<message from='\(from)' \(attributes)><received xmlns='urn:xmpp:receipts' id='\(id)'/></message>"
  }

  @Test("An acknowledged message is told, and behind it that the server has it.")
  func server() async throws {
    try await send("1", isAcknowledged: false)
    let outcome = try await take([.acknowledged("1")])
    #expect(outcome.events.map(\.name) == ["message", "receipt"])
    #expect(receipts(outcome.events) == [ReceiptEvent(id: "1", kind: .server, from: "im.example")])
    #expect(outcome.events[1].cursor == outcome.events[0].cursor + 1)
    #expect(try await take([.acknowledged("1")]).events.isEmpty)
  }

  @Test("Those that are acknowledged together are told in their order, each once, and can be found.")
  func together() async throws {
    let ids = (1...5).map(String.init)
    for id in ids { try await send(id, isAcknowledged: false) }
    let outcome = try await take([.acknowledged("4"), .acknowledged("2"), .streamChanged, .acknowledged("1")])
    #expect(Set(outcome.settled) == ["1", "2", "4"])
    #expect(outcome.events.map(\.name) == ["message", "receipt", "message", "receipt", "message", "receipt"])
    #expect(outcome.events.compactMap(\.message?.id) == ["1", "2", "4"])
    #expect(zip(outcome.events, outcome.events.dropFirst()).allSatisfy { $1.cursor == $0.cursor + 1 })
    #expect(try await store.replay(after: 0, until: 1000, account: nil).events == outcome.events)
    let waiting = try await store.change { try OutboxMessage.all(of: "alice@im.example", $0) }
    #expect(waiting.map(\.id) == ["3", "5"])
    #expect(try await take([.acknowledged("1"), .acknowledged("2")]).events.isEmpty)
    let found = try await store.read { database in
      try Row.fetchAll(
        database,
        sql: "SELECT id, place FROM messages WHERE place IN (SELECT rowid FROM search WHERE search MATCH 'x')"
      ).map { [$0["id"] as String, String($0["place"] as Int64)] }
    }
    #expect(found.map(\.[0]) == ["1", "2", "4"] && Set(found.map(\.[1])).count == 3)
  }

  @Test("What the session has kept of the outbox is settled in its order, if it is there still.")
  func kept() async throws {
    let ids = (1...5).map(String.init)
    for id in ids { try await send(id, isAcknowledged: false) }
    let waiting = try await store.change { try OutboxMessage.all(of: "alice@im.example", $0) }
    #expect(try await take([.acknowledged("2")]).settled == ["2"])
    let outcome = try await take(waiting.prefix(4).map { .sent([$0]) })
    #expect(outcome.settled == ["1", "2", "3", "4"])
    #expect(outcome.events.compactMap(\.message?.id) == ["1", "3", "4"])
    #expect(receipts(outcome.events).map(\.id) == ["1", "3", "4"])
    #expect(try await store.replay(after: 2, until: 1000, account: nil).events == outcome.events)
    #expect(try await take([.sent([waiting[0]])]).events.isEmpty)
    let left = try await store.change { try OutboxMessage.all(of: "alice@im.example", $0) }
    #expect(left.map(\.id) == ["5"])
  }

  @Test("One that comes behind its own retraction is told, and kept, without what it says.")
  func lateOriginal() async throws {
    let bob = "<message from='bob@im.example/x'"
    try await take("\(bob)><retract xmlns='urn:xmpp:message-retract:1' id='b1'/></message>")
    let late = try await take(
      "\(bob) id='b1'><body>secret</body></message>", "\(bob) id='b2'><body>open</body></message>")
    let messages = late.events.compactMap(\.message)
    #expect(messages.map(\.id) == ["b1", "b2"] && messages.map(\.body) == [nil, "open"])
    #expect(messages.map(\.retracted) == [true, nil])
    #expect(try await store.replay(after: 0, until: 1000, account: nil).events == late.events)
  }

  @Test("One of them that was taken back before is not kept with what it says.")
  func takenBack() async throws {
    try await send("0")
    for id in ["1", "2"] { try await send(id, isAcknowledged: false) }
    try await store.change { database in
      try database.execute(sql: "UPDATE messages SET retracts = '2' WHERE id = '0'")
    }
    let outcome = try await take([.acknowledged("1"), .acknowledged("2")])
    #expect(outcome.settled == ["1", "2"])
    let bodies = try await store.replay(after: 0, until: 1000, account: nil).events.compactMap(\.message)
      .filter { $0.id != "0" }.map(\.body)
    #expect(bodies == ["x", nil])
  }

  @Test("A receipt, a marker and a refusal are told once each, and again from the store.")
  func receipts() async throws {
    try await send("1")
    let bob = "bob@im.example/x"
    let marker = "<message from='\(bob)'><displayed xmlns='urn:xmpp:chat-markers:0' id='1'/></message>"
    let error =
      "<message from='bob@im.example' type='error' id='1'><error type='cancel'>"
      + "<service-unavailable xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error></message>"
    let first = try await take(received("1", from: bob), received("1", from: "bob@im.example/other"), marker)
    #expect(receipts(first.events).map(\.kind) == [.delivered, .displayed])
    #expect(receipts(first.events).map(\.from) == [bob, bob])
    let refused = try await take(error, marker)
    #expect(receipts(refused.events).map(\.kind) == [.failed])
    #expect(receipts(refused.events).first?.condition == "service-unavailable")
    let all = try await store.replay(after: 0, until: 1000, account: nil).events
    #expect(receipts(all).map(\.kind) == [.server, .delivered, .displayed, .failed])
    #expect(all.map(\.cursor) == all.map(\.cursor).sorted())
    // From the cursor of the message on its receipt by the server is the next.
    let rest = try await store.replay(after: all[0].cursor, until: 1000, account: nil).events
    #expect(rest == Array(all[1...]))
    let again = OutboxMessage(id: "1", to: try JID("bob@im.example"), body: "x", accepted: 5)
    let accepted = try await store.change {
      try again.accept("alice@im.example", own: "alice@im.example", $0)
    }
    guard case .sent(let last) = accepted else { throw CancellationError() }
    #expect(last?.kind == .failed)
  }

  @Test("A refusal is told with its reason, and the history has it with the message that was refused.")
  func refusal() async throws {
    for (id, isAcknowledged) in [("1", true), ("2", false)] {
      try await send(id, isAcknowledged: isAcknowledged)
      let outcome = try await take(
        "<message from='bob@im.example' type='error' id='\(id)'><error type='cancel'>"
          + "<item-not-found xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/>"
          + "<text xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'>moved</text></error></message>")
      let reason = MessageEvent.Refusal(condition: "item-not-found", text: "moved")
      let bounce = try #require(outcome.events.compactMap(\.message).first { $0.type == "error" })
      #expect(bounce.error == reason && bounce.id == id)
      let history = try #require(try LocalHistory(path: directory.paths.database))
      var told: [MessageEvent] = []
      try history.read(HistoryQuery(account: "alice@im.example")) { told += [$0.message].compactMap(\.self) }
      let sent = try #require(told.first { $0.id == id && $0.direction == .out })
      #expect(sent.error == reason)
    }
    // Somebody else's word is no reason.
    try await send("3")
    try await take(
      "<message from='mallory@evil.example' type='error' id='3'><error type='cancel'/></message>")
    let told = try await store.replay(after: 0, until: 1000, account: nil).events.compactMap(\.message)
    #expect(told.first { $0.id == "3" && $0.direction == .out }?.error == nil)
  }

  @Test(
    "A correction takes the place of the first message, by its id or as the newest, at its recipient only.")
  func ownCorrections() async throws {
    try await send("1")
    try await send("2", isAcknowledged: false)
    func correct(_ id: String, _ target: OutgoingMessage.Correction, to: String = "bob@im.example")
      async throws
      -> String?
    {
      let message = OutboxMessage(id: id, to: try JID(to), body: "y", accepted: 6)
      return try await store.change { database in
        let correction = try message.correcting(
          target, "alice@im.example", own: "alice@im.example", database)
        _ = try correction.insert("alice@im.example", database)
        return try OutboxMessage.find(id, of: "alice@im.example", database)?.replaces
      }
    }
    #expect(try await correct("3", .message("1")) == "1")
    #expect(try await correct("4", .last) == "2")
    #expect(try await correct("5", .message("4")) == "2")
    _ = try await take([.acknowledged("2"), .acknowledged("3"), .acknowledged("4"), .acknowledged("5")])
    #expect(try await correct("6", .last) == "2")
    #expect(try await correct("7", .message("3")) == "1")
    await #expect(throws: Failure.self) { try await correct("8", .message("nothing")) }
    await #expect(throws: Failure.self) { try await correct("9", .message("1"), to: "eve@im.example") }
    await #expect(throws: Failure.self) { try await correct("10", .last, to: "eve@im.example") }
    let waiting = try await store.change { try OutboxMessage.find("7", of: "alice@im.example", $0) }
    let element = try #require(waiting?.element(isAgain: false, own: own))
    #expect(Message(element).flatMap { Correction.replaced(by: $0) } == "1")
  }

  @Test("The error that answers a kick notice, a receipt or anything else that is no message is not kept.")
  func strayErrors() async throws {
    let error =
      "<error type='cancel'><service-unavailable xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error>"
    let notice = KickNotice(name: "laptop", platform: nil, ext: nil).message(to: try own.with(resource: "x"))
    let kick = try #require(notice.first("kick", "urn:imctl:kick:0"))
    let outcome = try await take([
      .arrived(
        Message(
          type: .error, to: own, from: try own.with(resource: "x"), id: notice.id,
          payload: [kick, try #require(try element("<message>\(error)</message>").payload.first)])),
      .arrived(try element("<message type='error' from='alice@im.example/x' id='k1'>\(error)</message>")),
      .arrived(try element("<message type='error' from='bob@im.example/x' id='r1'>\(error)</message>")),
      .handled(3),
    ])
    #expect(outcome.events.isEmpty && outcome.settled.isEmpty)
    let left = try await store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM messages") }
    #expect(left == 0)
    let own = own.bare.description
    #expect(try await store.read { try StoredConversations.list(own, $0) }.isEmpty)
  }

  @Test("A recipient that answers before the server acknowledges has got the message of the server.")
  func early() async throws {
    try await send("1", isAcknowledged: false)
    let outcome = try await take(received("1", from: "bob@im.example/x"))
    #expect(outcome.settled == ["1"])
    #expect(outcome.events.map(\.name) == ["message", "receipt", "receipt"])
    #expect(receipts(outcome.events).map(\.kind) == [.server, .delivered])
    #expect(try await take([.acknowledged("1")]).events.isEmpty)
  }

  @Test(
    "Nobody but the recipient says what has become of a message.",
    arguments: [true, false])
  func forgedReceipts(isAcknowledged: Bool) async throws {
    try await send("1", isAcknowledged: isAcknowledged)
    let error = "<error type='cancel'/>"
    let carbon =
      "<message from='mallory@evil.example'><received xmlns='urn:xmpp:carbons:2'><forwarded "
      + "xmlns='urn:xmpp:forward:0'><message xmlns='jabber:client' to='alice@im.example' from='bob@im.example'>"
      + "<received xmlns='urn:xmpp:receipts' id='1'/></message></forwarded></received></message>"
    let outcome = try await take(
      received("1", from: "mallory@evil.example/x"), received("2", from: "bob@im.example"),
      "<message from='bob@im.example.evil'><displayed xmlns='urn:xmpp:chat-markers:0' id='1'/></message>",
      "<message from='bob@im.example/x' type='groupchat'><displayed xmlns='urn:xmpp:chat-markers:0' id='1'/></message>",
      carbon)
    #expect(outcome.events.isEmpty && outcome.settled.isEmpty && outcome.receipts.isEmpty)
    // The message itself is told, but as what it is: somebody else's.
    let refusal = try await take(
      "<message from='mallory@evil.example' type='error' id='1'>\(error)</message>")
    #expect(receipts(refusal.events).isEmpty && refusal.settled.isEmpty)
  }

  @Test("What another device of the account tells a sender is no receipt for the account.")
  func ownReceipts() async throws {
    try await send("1", to: "bob@im.example")
    let sent =
      "<message from='alice@im.example'><sent xmlns='urn:xmpp:carbons:2'><forwarded xmlns='urn:xmpp:forward:0'>"
      + "<message xmlns='jabber:client' to='bob@im.example' from='alice@im.example/phone'>"
      + "<displayed xmlns='urn:xmpp:chat-markers:0' id='1'/></message></forwarded></sent></message>"
    #expect(try await take(sent).events.isEmpty)
  }

  @Test(
    "A correction and a retraction count where their sender has sent the message; else it is an ordinary one."
  )
  func corrections() async throws {
    func correction(_ from: String, _ id: String) -> String {
      "<message from='\(from)' id='c-\(from)'><body>new</body><replace xmlns='urn:xmpp:message-correct:0' "
        + "id='\(id)'/></message>"
    }
    func retraction(_ from: String, _ id: String) -> String {
      "<message from='\(from)'><body>taken back</body><retract xmlns='urn:xmpp:message-retract:1' id='\(id)'/>"
        + "</message>"
    }
    try await take(
      "<message from='bob@im.example/x' id='b1'><body>old</body></message>",
      "<message from='bob@im.example/x' id='b2'><origin-id xmlns='urn:xmpp:sid:0' id='o2'/><body>old</body></message>"
    )
    let forged = try await take(
      correction("mallory@evil.example/x", "b1"), retraction("mallory@evil.example/x", "b1"),
      retraction("bob@im.example/x", "unknown"))
    #expect(forged.events.compactMap(\.message).map(\.body) == ["new"])
    #expect(forged.events.first?.message?.replaces == nil)
    let real = try await take(
      correction("bob@im.example/other", "b1"), retraction("bob@im.example", "o2"),
      retraction("bob@im.example", "b2"))
    let messages = real.events.compactMap(\.message)
    #expect(messages.map(\.replaces) == ["b1", nil, nil])
    #expect(messages.map(\.retracts) == [nil, "o2", "b2"])
    #expect(messages.map(\.body) == ["new", nil, nil])
    let replayed = try await store.replay(after: 2, until: 1000, account: nil).events.compactMap(\.message)
    #expect(replayed.map(\.retracts) == [nil, nil, "o2", "b2"])
    // What was not known may come out of the past.
    let past = ["bob@im.example", "mallory@evil.example"].map { sender in
      StoredMessage(direction: .received, sender: sender, time: 1, id: "unknown", body: "past of \(sender)")
    }
    let bodies = try await store.change { database in
      _ = try StoredMessage.insertPast(past, own.bare.description, database)
      return try String.fetchAll(database, sql: "SELECT body FROM messages WHERE body LIKE 'past%'")
    }
    #expect(bodies == ["past of mallory@evil.example"])
  }

  @Test("A receipt is sent for what was stored, to whom the account has written; once, and never by a copy.")
  func answers() async throws {
    func asking(_ id: String, from: String = "bob@im.example/x") -> String {
      "<message from='\(from)' to='alice@im.example' id='\(id)' type='chat'><body>x</body>"
        + "<origin-id xmlns='urn:xmpp:sid:0' id='\(id)'/><request xmlns='urn:xmpp:receipts'/></message>"
    }
    #expect(try await take(asking("before")).answers().isEmpty)
    try await send("1")
    let answered = try await take(asking("2"), asking("2"), asking("3", from: "mallory@evil.example/x"))
    #expect(answered.answers().compactMap(Message.init).map(Receipts.confirmed) == ["2"])
    #expect(try answered.answers().compactMap(Message.init).map(\.to) == [JID("bob@im.example/x")])
    let inner = asking("4").replacing("<message ", with: "<message xmlns='jabber:client' ")
    let copy = try await take(
      "<message from='alice@im.example'><received xmlns='urn:xmpp:carbons:2'><forwarded "
        + "xmlns='urn:xmpp:forward:0'>\(inner)</forwarded></received></message>")
    #expect(copy.events.count == 1 && !copy.hasAnswers)
  }

  @Test("What somebody does is told while it is true, and not kept.")
  func chatStates() async throws {
    let composing = "<composing xmlns='http://jabber.org/protocol/chatstates'/>"
    let active = "<active xmlns='http://jabber.org/protocol/chatstates'/>"
    let outcome = try await take(
      "<message from='bob@im.example/x' type='chat'>\(composing)</message>",
      "<message from='bob@im.example/x' type='chat'>\(active)<body>done</body></message>",
      "<message from='bob@im.example/x' type='chat'>\(composing)<delay xmlns='urn:xmpp:delay' "
        + "stamp='2020-01-01T00:00:00Z'/></message>",
      "<message from='alice@im.example/phone' type='chat'>\(composing)</message>",
      "<message from='room@muc.example/x' type='groupchat'>\(composing)</message>")
    #expect(outcome.events.map(\.name) == ["chatState", "message"])
    #expect(outcome.events[0].body == .chatState(.init(from: "bob@im.example/x", state: "composing")))
    #expect(try await store.replay(after: 0, until: 1000, account: nil).events.map(\.name) == ["message"])
  }

  @Test(
    "A message to an own device is told once, as received, however many copies come and in whatever order.",
    arguments: ["id='message-1'", "id='1'", ""], [[0, 1, 2], [1, 2, 0], [2, 1, 0]])
  func toOneself(id: String, order: [Int]) async throws {
    func message(_ namespace: String = "") -> String {
      "<message \(namespace)from='alice@im.example/phone' to='alice@im.example/desk' \(id) type='chat'>"
        + "<body>note</body></message>"
    }
    func carbon(_ kind: String) -> String {
      "<message from='alice@im.example' to='alice@im.example/desk'><\(kind) xmlns='urn:xmpp:carbons:2'><forwarded "
        + "xmlns='urn:xmpp:forward:0'>\(message("xmlns='jabber:client' "))</forwarded></\(kind)></message>"
    }
    // A server may leave out the account's own address.
    let sent = carbon("sent").replacing("phone' to='alice@im.example/desk'", with: "phone'")
    let copies = [message(), sent, carbon("received")]
    for count in 1...2 {
      var events: [Event] = []
      for index in order { events += try await take(copies[index]).events }
      // The second time it is another message.
      #expect(events.compactMap(\.message).map(\.direction) == [.in], "\(count)")
    }
  }

  @Test(
    "What is refused is counted by why: a forged copy, a result that nobody asked for, a message of other people."
  )
  func refused() async throws {
    let inner =
      "<message xmlns='jabber:client' from='eve@x.example' to='mallory@x.example'><body>x</body></message>"
    let forwarded = "<forwarded xmlns='urn:xmpp:forward:0'>\(inner)</forwarded>"
    var reading: ArchiveReading? = .init(page: ArchivePage(.after(nil), maximum: 10), isKept: true)
    func result(_ id: String) -> String {
      "<message to='\(own)'><result xmlns='urn:xmpp:mam:2' queryid='\(id)' id='1'>\(forwarded)</result></message>"
    }
    let asked = try #require(reading?.page.id)
    let stanzas = [
      "<message from='eve@x.example'><sent xmlns='urn:xmpp:carbons:2'>\(forwarded)</sent></message>",
      result("unasked"), result(asked), "<message from='eve@x.example'><body>honest</body></message>",
    ]
    let batch = MessageBatch(
      try stanzas.map { .arrived(try element($0)) } + [.handled(1)], account: own.bare, own: own,
      archiveIDs: .confirmed, reading: &reading, now: 1_800_000_000)
    #expect(batch.refused == [.carbon: 1, .archive: 2])
    let cursors = await cursor.next(batch.maximumEvents)
    let events = try await store.change { try batch.store(under: cursors, $0) }.events
    #expect(events.compactMap(\.message).map(\.body) == ["honest"])
    try await send("1")
    let receipt = "<message from='eve@x.example'><received xmlns='urn:xmpp:receipts' id='1'/></message>"
    #expect(try await take(receipt).disbelieved == 1)
  }

  @Test("Copies of messages to oneself that name their origin-id are one message, however often they come.")
  func toOneselfAgain() async throws {
    let message =
      "<message from='alice@im.example/phone' to='alice@im.example/desk' id='message-1' type='chat'>"
      + "<body>note</body><origin-id xmlns='urn:xmpp:sid:0' id='message-1'/></message>"
    #expect(try await take(message, message).events.count == 1)
    #expect(try await take(message).events.isEmpty)
  }

  @Test(
    "Messages to oneself that are alike are as many as have come, live and out of the archive that has each twice."
  )
  func alikeToOneself() async throws {
    func message(_ archiveID: String, _ namespace: String = "") -> String {
      "<message \(namespace)from='alice@im.example/phone' to='alice@im.example' id='1' type='chat'><body>a</body>"
        + "<stanza-id xmlns='urn:xmpp:sid:0' by='alice@im.example' id='\(archiveID)'/></message>"
    }
    func carbon(_ archiveID: String) -> String {
      "<message from='alice@im.example' to='alice@im.example/desk'><sent xmlns='urn:xmpp:carbons:2'><forwarded "
        + "xmlns='urn:xmpp:forward:0'>\(message(archiveID, "xmlns='jabber:client' "))</forwarded></sent></message>"
    }
    func archived(_ ids: [String]) async throws -> Int {
      try await read(ids.map { ($0, message($0, "xmlns='jabber:client' ")) }).events.count
    }
    let live = [carbon("a1"), message("a2"), carbon("b1"), message("b2")]
    #expect(
      try await take(live.map { .arrived(try element($0)) } + [.handled(1)], archiveIDs: .confirmed).events
        .count
        == 2)
    // What came live is known there by both of its ids; one was missed.
    #expect(try await archived(["a1", "a2", "b1", "b2", "c1", "c2"]) == 1)
    #expect(try await archived(["a1", "a2", "b1", "b2", "c1", "c2", "d1", "d2", "e1", "e2"]) == 2)
  }

  @Test(
    "Messages that differ are kept, though a sender gives them one id in the name of an archive not known of yet."
  )
  func claimedTwice() async throws {
    func message(_ body: String, from: String = "eve@x.example/x") -> String {
      "<message from='\(from)' id='1' type='chat'><body>\(body)</body>"
        + "<stanza-id xmlns='urn:xmpp:sid:0' by='alice@im.example' id='a1'/></message>"
    }
    let stanzas = [message("a"), message("b"), message("a"), message("a", from: "bob@im.example/x")]
    let outcome = try await take(
      stanzas.map { .arrived(try element($0)) } + [.handled(1)], archiveIDs: .claimed)
    #expect(outcome.events.compactMap(\.message).map(\.body) == ["a", "b", "a"])
  }

  @Test("A message that came live without its id in the archive is known again there, one like it is not.")
  func withoutArchiveID() async throws {
    let message = "<message from='bob@im.example/x' id='1' type='chat'><body>a</body></message>"
    #expect(try await take(message, message).events.count == 2)
    let inner = message.replacing("<message ", with: "<message xmlns='jabber:client' ")
    let outcome = try await read(["a", "b", "c"].map { ($0, inner) })
    #expect(outcome.events.compactMap(\.message).map(\.stanzaId) == ["c"])
  }

  @Test("A copy of what this device has sent is no other message, though it does not name its origin-id.")
  func copyOfSent() async throws {
    try await send("message-1", isAcknowledged: false)
    func copy(_ body: String = "x", id: String = "message-1") -> String {
      "<message from='alice@im.example'><sent xmlns='urn:xmpp:carbons:2'><forwarded xmlns='urn:xmpp:forward:0'>"
        + "<message xmlns='jabber:client' from='alice@im.example/phone' to='bob@im.example' id='\(id)' type='chat'>"
        + "<body>\(body)</body></message></forwarded></sent></message>"
    }
    #expect(try await take(copy()).settled == ["message-1"])
    // A server may write it otherwise.
    #expect(try await take(copy(), copy("x ")).events.isEmpty)
    // What another device has sent is not sent once more under its id.
    #expect(try await take(copy("y", id: "message-2")).events.count == 1)
    let other = OutboxMessage(id: "message-2", to: try JID("bob@im.example"), body: "y", accepted: 6)
    let own = "alice@im.example"
    #expect(try await store.change { try other.accept(own, own: own, $0) } == .sent(nil))
    let ids = ["message-0", "message-3"]
    #expect(try await store.change { try OutboxMessage.mayBeKnown(ids, of: own, own: own, $0) })
  }

  @Test("Ids of a client that counts from 1 on do not make its later messages copies of the first ones.")
  func counters() async throws {
    let first = "<message from='alice@im.example/phone' to='alice@im.example' id='1'><body>a</body></message>"
    let second = first.replacing("<body>a", with: "<body>b")
    #expect(try await take(first, second, second).events.count == 3)
  }

  @Test("What was written before there were receipts may still be answered.")
  func migration() async throws {
    let path = directory.path + "/old.sqlite"
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

extension Event {
  fileprivate var message: MessageEvent? {
    if case .message(let message) = body { message } else { nil }
  }
}
