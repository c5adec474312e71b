import AgentProtocol
import GRDB
import TestSupport
import Testing
import XMPPFeatures
import XMPPStanza
import XMPPXML

@testable import AgentService
@testable import AgentSession
@testable import AgentStore

@Suite(.timeLimit(.minutes(4))) struct MessageStoreTests {
  private let directory: TemporaryDirectory
  private let to: JID
  private var path: String { directory.paths.database }

  init() throws {
    directory = try TemporaryDirectory()
    to = try JID("bob@im.example")
  }

  private func received(_ body: String, origin: String? = nil, archive: String? = nil, sender: String = "b@c")
    -> StoredMessage
  {
    StoredMessage(
      direction: .received, sender: sender, time: 1, id: nil, originID: origin, archiveID: archive,
      from: sender, to: "a@b", type: .chat, body: body)
  }

  private func keep(_ messages: [StoredMessage], from cursor: Int64, in store: LocalStore) async throws
    -> [Bool]
  {
    try await store.change { database in
      try messages.enumerated().map { try $1.insert("a@b", cursor: cursor + Int64($0), database) != nil }
    }
  }

  @Test("A message is stored once for each account, recognised by its archive id and by its sender's id.")
  func once() async throws {
    let store = try LocalStore(path: path)
    let kept = try await keep(
      [
        received("1", archive: "x"), received("1 again", archive: "x"), received("2", origin: "o"),
        received("2 again", origin: "o", archive: "y"), received("2 once more", archive: "y"),
        received("3", origin: "o", sender: "d@e"), received("4"), received("4"),
      ], from: 1, in: store)
    #expect(kept == [true, false, true, false, false, true, true, true])
    let other = received("1", archive: "x")
    let isNew = try await store.change { try other.insert("other@b", cursor: 20, $0) != nil }
    #expect(isNew)
    let events = try await store.replay(after: 0, until: 100, account: "a@b").events
    #expect(events.map(\.cursor) == [1, 3, 6, 7, 8])
    // What was first known without it has got the archive's id of its copy.
    guard case .message(let second) = events[1].body else { throw CancellationError() }
    #expect(second.stanzaId == "y")
  }

  @Test(
    "A copy whose origin id is the id of a stored message is the same message, whichever comes first.",
    arguments: [true, false])
  func repeated(isNamedFirst: Bool) async throws {
    func message(
      _ body: String, id: String? = "message-1", origin: String? = nil, archive: String? = nil,
      from: String = "b@c",
      type: Message.Kind = .chat
    ) -> StoredMessage {
      StoredMessage(
        direction: .received, sender: from, time: 1, id: id, originID: origin, archiveID: archive, from: from,
        to: "a@b", type: type, body: body)
    }
    let plain = message("1", archive: "x")
    let named = message("1", origin: "message-1", archive: "y")
    let store = try LocalStore(path: path)
    let kept = try await keep(
      [
        isNamedFirst ? named : plain, isNamedFirst ? plain : named, named, message("1", origin: "message-1"),
        // Whoever gives all messages one id, or counts them, or is somebody else, has sent something else.
        message("2", archive: "z"), message("2"), message("1", from: "d@e"), message("1", type: .error),
        message("3", id: "1", origin: "1"), message("3", id: "1"),
      ], from: 1, in: store)
    #expect(kept == [true, false, false, false, true, true, true, true, true, true])
    // What came without the archive's id has got it of the repeat.
    let late = try await keep(
      [
        message("4", id: "message-4"), message("4", id: "message-4", origin: "message-4", archive: "w"),
        message("5", archive: "w"),
      ], from: 20, in: store)
    #expect(late == [true, false, false])
  }

  @Test("A body with SQL, quotes and NUL is stored unchanged.")
  func inert() async throws {
    let store = try LocalStore(path: path)
    let body = "'; DROP TABLE messages; --\" \u{1b}[31m $(id)\n\u{202e}"
    _ = try await keep([received(body)], from: 1, in: store)
    let replayed = try await store.replay(after: 0, until: 9, account: nil).events
    guard case .message(let message) = replayed.first?.body else { throw CancellationError() }
    #expect(message.body == body)
  }

  @Test("Long messages are replayed a few at a time, each of them once and none left out.")
  func longReplay() async throws {
    let store = try LocalStore(path: path)
    let long = String(repeating: "x", count: 700_000)
    _ = try await keep((1...5).map { received("\($0)\(long)") }, from: 1, in: store)
    let (events, through) = try await store.replay(after: 0, until: 9, account: nil)
    #expect(events.map(\.cursor) == [1, 2] && through == 2)
    #expect(try await store.replay(after: 4, until: 9, account: nil).through == 9)
    var replay = Replay(store: store, EventHub.Filter(), after: 0)
    var cursors: [[Int64]] = []
    while let events = try await replay.next(until: 9) { cursors.append(events.map(\.cursor)) }
    #expect(cursors == [[1, 2], [3, 4], [5]])
  }

  @Test("A change that fails is undone, but the other changes of its transaction are not.")
  func failing() async throws {
    let store = try LocalStore(path: path)
    await withTaskGroup { group in
      for number in 1...50 {
        group.addTask {
          do {
            try await store.change(durably: number.isMultiple(of: 2)) { database in
              _ = try received("\(number)").insert("a@b", cursor: Int64(number), database)
              if number.isMultiple(of: 5) { throw DatabaseError(resultCode: .SQLITE_FULL) }
            }
            #expect(!number.isMultiple(of: 5))
          } catch {
            #expect(number.isMultiple(of: 5) && (error as? Failure)?.name == .databaseError)
          }
        }
      }
    }
    let events = try await store.replay(after: 0, until: 100, account: nil).events
    #expect(events.map(\.cursor) == (1...50).filter { !$0.isMultiple(of: 5) }.map(Int64.init))
  }

  /// The outbox as a later agent finds it, whatever was the last thing that this one had done.
  @Test("Each step of a sent message survives a restart: accepted, handed over and acknowledged.")
  func steps() async throws {
    let message = OutboxMessage(id: "1", to: to, body: "x", accepted: 5)
    func reopened() async throws -> [OutboxMessage] {
      try await LocalStore(path: path).change { try OutboxMessage.all(of: "a@b", $0) }
    }
    var store = try LocalStore(path: path)
    let position = try await store.change { database -> Int64 in
      guard case .accepted(let position) = try message.accept("a@b", own: "a@b", database) else { return 0 }
      return position
    }
    #expect(try await reopened().map(\.isSent) == [false])
    store = try LocalStore(path: path)
    try await store.change { try OutboxMessage.markSent([position], since: "s", $0) }
    #expect(try await reopened().map(\.since) == ["s"])
    // Marked again it is still looked for where it was handed over first.
    store = try LocalStore(path: path)
    try await store.change { try OutboxMessage.markSent([position], since: "t", $0) }
    #expect(try await reopened().map(\.since) == ["s"])
    // Accepted again it is the same.
    let waiting = try await store.change { try message.accept("a@b", own: "a@b", $0) }
    #expect(waiting == .waiting)
    let other = OutboxMessage(id: "1", to: to, body: "y", accepted: 5)
    let taken = try await store.change { try other.accept("a@b", own: "a@b", $0) }
    #expect(taken == .idTaken)
    let batch = try acknowledgement(of: "1")
    let outcome = try await store.change { try batch.store(under: 1..<2, $0) }
    #expect(outcome.settled == ["1"] && outcome.events.map(\.name) == ["message", "receipt"])
    #expect(try await reopened().isEmpty)
    store = try LocalStore(path: path)
    let known = try await store.change { try message.accept("a@b", own: "a@b", $0) }
    #expect(known == .sent(nil))
    // Acknowledged again, by another stream, nothing happens.
    let again = try await store.change { try batch.store(under: 2..<3, $0) }
    #expect(again.settled.isEmpty && again.events.isEmpty)
  }

  @Test(
    "A message that waited under another account name than the server's is stored once, even beside a copy."
  )
  func otherName() async throws {
    let own = "anonymous@b"
    let store = try LocalStore(path: path)
    for (id, hasCopy) in [("1", false), ("2", true)] {
      let message = OutboxMessage(id: id, to: to, body: "x", accepted: 5)
      try await store.change { database in
        _ = try message.accept("a@b", own: own, database)
        if hasCopy { #expect(try message.stored(own: own).insert("a@b", cursor: nil, database) != nil) }
        let waiting = try OutboxMessage.find(id, of: "a@b", database)
        let settled = try waiting?.settle("a@b", own: own, cursor: 7, database)
        #expect(settled?.sender == (hasCopy ? nil : own))
        #expect(try OutboxMessage.count(of: "a@b", database) == 0)
        let senders = try String.fetchAll(
          database, sql: "SELECT sender FROM messages WHERE originID = ?", arguments: [id])
        #expect(senders == [own])
        guard case .sent = try message.accept("a@b", own: own, database) else { throw CancellationError() }
      }
    }
  }

  @Test("One row has the state of a sent message: waiting, handed over, acknowledged or delivered.")
  func oneRow() async throws {
    let store = try LocalStore(path: path)
    let message = OutboxMessage(id: "1", to: to, body: "word", accepted: 5)
    let deliveries = try await store.change { database in
      func delivery() throws -> [Int] { try Int.fetchAll(database, sql: "SELECT delivery FROM messages") }
      guard case .accepted(let position) = try message.accept("a@b", own: "a@b", database) else {
        throw CancellationError()
      }
      var all = try [delivery()]
      try OutboxMessage.markSent([position], since: nil, database)
      all.append(try delivery())
      _ = try OutboxMessage.find("1", of: "a@b", database)?.settle("a@b", own: "a@b", cursor: 3, database)
      all.append(try delivery())
      let receipt = ReceiptEvent(id: "1", kind: .delivered, from: "c@d/x")
      let stored = StoredReceipt(receipt: receipt, time: 6, sender: try JID("c@d/x"))
      #expect(try stored.insert("a@b", own: "a@b", cursor: 9, database))
      all.append(try delivery())
      // What was accepted late does not take back what is known.
      try OutboxMessage.markSent([position], since: nil, database)
      return try all + [delivery()]
    }
    #expect(deliveries == [[-2], [-1], [1], [2], [2]])
  }

  @Test("Many messages that are accepted together are stored completely and in order.")
  func together() async throws {
    let store = try LocalStore(path: path)
    var messages: [OutboxMessage] = []
    for number in 0..<67 {
      var message = OutboxMessage(id: "\(number)", to: to, body: "text \(number)", accepted: 5)
      message.subject = number % 2 == 0 ? "about" : nil
      message.thread = number % 3 == 0 ? "talk" : nil
      message.isSent = number % 5 == 0
      message.since = message.isSent ? "s" : nil
      message.asksReceipt = number % 7 == 0
      messages.append(message)
    }
    let (kept, waiting) = try await store.change { [messages] database in
      let kept = try OutboxMessage.insert(messages, "a@b", database)
      return (kept, try OutboxMessage.all(of: "a@b", database))
    }
    #expect(kept == waiting && kept.map(\.position) == Array(1...67))
    let unplaced = kept.map { message in
      var message = message
      message.position = 0
      return message
    }
    #expect(unplaced == messages)
  }

  @Test("The waiting messages of one account are read in order, up to a number and a size.")
  func queued() async throws {
    let store = try LocalStore(path: path)
    try await store.change { database in
      for number in 1...6 {
        var message = OutboxMessage(id: "\(9 - number)", to: to, body: "four", accepted: 5)
        message.isSent = number == 2
        _ = try message.insert("a@b", database)
        _ = try message.insert("c@d", database)
      }
    }
    func queued(_ messages: Int, _ octets: Int) async throws -> ([String], Bool) {
      let queued = try await store.change {
        try OutboxMessage.queued(of: "a@b", upTo: (messages, octets), $0)
      }
      return (queued.messages.map(\.id), queued.areAll)
    }
    #expect(try await queued(10, 1000) == (["8", "6", "5", "4", "3"], true))
    #expect(try await queued(2, 1000) == (["8", "6"], false))
    #expect(try await queued(10, 9) == (["8", "6", "5"], false))
    #expect(try await queued(10, 0) == ([], false))
    let steps = try await store.change { database in
      try Row.fetchAll(
        database,
        sql: """
          EXPLAIN QUERY PLAN
          SELECT * FROM messages INDEXED BY outbox
          WHERE account = ? AND delivery < 0 AND delivery = -2 ORDER BY position
          """, arguments: ["a@b"]
      ).map { $0["detail"] as String }
    }
    #expect(steps == ["SEARCH messages USING INDEX outbox (account=?)"])
  }

  @Test(
    "Message ids are accepted at once if the store has none in their range, and are looked up otherwise.")
  func newIDs() async throws {
    let store = try LocalStore(path: path)
    for id in ["b.5", "d.5", "é"] {
      let message = OutboxMessage(id: id, to: to, body: "x", accepted: 5)
      try await store.change { _ = try message.accept("a@b", own: "a@b", $0) }
    }
    let batch = try acknowledgement(of: "d.5")
    _ = try await store.change { try batch.store(under: 1..<2, $0) }
    func mayBeKnown(_ ids: [String], of account: String = "a@b") async throws -> Bool {
      try await store.change { try OutboxMessage.mayBeKnown(ids, of: account, own: "a@b", $0) }
    }
    for ids in [["b.5"], ["b.9", "b.10"], ["c.0", "d.5"], ["d.4", "d.6"], ["f", "𝄞"], ["é"]] {
      #expect(try await mayBeKnown(ids), "\(ids)")
    }
    for ids in [["b.0", "b.1"], ["b.6", "c.0", "d.4"], ["e\u{301}"], ["ê", "𝄞"], ["d.50", "d.51"]] {
      #expect(try await !mayBeKnown(ids), "\(ids)")
    }
    #expect(try await !mayBeKnown(["b.5"], of: "other@b"))
  }

  private func acknowledgement(of id: String) throws -> MessageBatch {
    var reading: ArchiveReading?
    let own = try JID("a@b/c")
    return MessageBatch(
      [.acknowledged(id)], account: own.bare, own: own, archiveIDs: .ignored, reading: &reading, now: 10)
  }

  @Test("A copy from the archive settles a message that was waiting, and is reported as sent.")
  func settledByArchive() async throws {
    let store = try LocalStore(path: path)
    let own = try JID("a@b/c")
    let message = OutboxMessage(id: "1", to: to, body: "x", accepted: 5)
    try await store.change { _ = try message.accept("a@b", own: "a@b", $0) }
    var copy = Message(message.element(isAgain: false, own: own))
    copy?.from = own
    let sent = try #require(copy)
    var wrapper = Message(from: own.bare)
    let forwarded = XMLElement(
      "forwarded", namespace: Namespaces.forward, children: [sent.element])
    wrapper.payload = [
      XMLElement(
        "result", namespace: Archive.namespace, attributes: ["queryid": "q", "id": "archived"],
        children: [forwarded])
    ]
    var reading: ArchiveReading? = .init(
      page: ArchivePage(.after(nil), maximum: 5, id: "q"), isKept: true)
    let batch = MessageBatch(
      [.arrived(wrapper), .handled(1)], account: own.bare, own: own, archiveIDs: .confirmed,
      reading: &reading,
      now: 10)
    #expect(batch.handled == 1)
    let outcome = try await store.change { try batch.store(under: 7..<8, $0) }
    #expect(outcome.settled == ["1"])
    guard case .message(let event) = outcome.events.first?.body else { throw CancellationError() }
    #expect(event.direction == .out && event.stanzaId == "archived" && event.id == "1")
  }

  @Test("Messages after the last acknowledged stanza are ignored when the stream ends.")
  func unnumbered() throws {
    let own = try JID("a@b/c")
    var reading: ArchiveReading?
    let first = Message(from: to, body: "1")
    let second = Message(from: to, body: "2")
    let batch = MessageBatch(
      [.arrived(first), .handled(1), .arrived(second), .ended], account: own.bare, own: own,
      archiveIDs: .ignored,
      reading: &reading, now: 10)
    #expect(batch.maximumEvents == 2 && batch.handled == 1)
  }

  @Test("A replay begins at its cursor, or reports a gap and begins later if too many events follow.")
  func replay() async throws {
    let store = try LocalStore(path: path)
    _ = try await keep((1...30).map { received("\($0)") }, from: 10, in: store)
    let all = try await store.replayStart(since: 12, until: 39, account: nil)
    #expect(all == (12, true))
    let some = try await store.replayStart(since: 12, until: 39, account: nil, limit: 20)
    #expect(some == (19, false))
    // A cursor of another database.
    let none = try await store.replayStart(since: 1000, until: 39, account: nil)
    #expect(none == (39, false))
    var replay = Replay(store: store, EventHub.Filter(account: "a@b"), after: 0)
    #expect(try await replay.begin(since: 36, until: 39).isEmpty)
    #expect(try await replay.next(until: 38)?.map(\.cursor) == [37, 38])
    #expect(try await replay.next(until: 38) == nil)
    replay.told(40)
    #expect(try await replay.next(until: 39) == nil)
  }

  @Test("Removing an account removes its own messages and no others.")
  func forget() async throws {
    let store = try LocalStore(path: path)
    for account in ["a@b", "c@d"] {
      try await store.change { database in
        _ = try received("x").insert(account, cursor: account == "a@b" ? 1 : 2, database)
        try StreamRecord.save(archivePosition: "p", of: account, database)
        try StreamRecord.save(resumption: "r", of: account, database)
      }
    }
    try await store.forget("a@b")
    #expect(try await store.replay(after: 0, until: 9, account: nil).events.map(\.account) == ["c@d"])
    let forgotten = try await store.change { try StreamRecord.load("a@b", $0) }
    #expect(forgotten == StreamRecord())
    let kept = try await store.change { try StreamRecord.load("c@d", $0) }
    #expect(kept == StreamRecord(resumption: "r", archivePosition: "p"))
  }
}
