import AgentProtocol
import GRDB
import Glibc
import TestSupport
import Testing

@testable import AgentService
@testable import AgentStore

@Suite("A local store that is damaged or of another version")
struct DamagedStoreTests {
  private let directory: TemporaryDirectory
  private var path: String { directory.paths.database }

  init() throws { directory = try TemporaryDirectory() }

  private func message(_ body: String, time: Double) -> StoredMessage {
    StoredMessage(
      direction: .received, sender: "b@c", time: time, from: "b@c/d", to: "a@b", type: .chat, body: body)
  }

  private func bodies(_ words: String...) throws -> [String] {
    var query = HistoryQuery(account: "a@b")
    query.words = words
    var bodies: [String] = []
    try LocalHistory(path: path)?.read(query) { event in
      if case .message(let message) = event.body { bodies.append(message.body ?? "") }
    }
    return bodies
  }

  /// A database as earlier versions have left it.
  private func earlier(upTo migration: String) throws {
    try PrivateDirectory.ensure(directory.paths.state)
    let database = try DatabaseQueue(path: path)
    try Schema.migrator().migrate(database, upTo: migration)
    guard migration != "meta" else { return }
    try database.write { database in
      for (cursor, body) in [(1, "second of March"), (2, "first of March"), (3, "second again")] {
        try database.execute(
          sql: """
            INSERT INTO messages (cursor, account, direction, sender, time, fromJID, toJID, type, body, isCarbon,
              isDelayed, isEncrypted) VALUES (?, 'a@b', 0, 'b@c', ?, 'b@c/d', 'a@b', 'chat', ?, 0, 0, 0)
            """, arguments: [cursor, cursor == 2 ? 5 : 7, body])
      }
    }
    try database.close()
  }

  @Test(
    "A local store of an earlier version is upgraded with all of its content.",
    arguments: ["meta", "messages"])
  func earlierVersion(migration: String) async throws {
    try earlier(upTo: migration)
    let expected = migration == "meta" ? [] : ["first of March", "second of March", "second again"]
    // By who only reads, too.
    #expect(try bodies() == expected)
    #expect(try bodies("march", "second") == (migration == "meta" ? [] : ["second of March"]))
    let store = try LocalStore(path: path)
    try await store.change { _ = try message("third", time: 7).insert("a@b", cursor: 9, $0) }
    #expect(try bodies() == expected + ["third"])
    #expect(store.movedAside == nil)
  }

  @Test("A local store of a later version is refused and left unchanged.")
  func laterVersion() throws {
    do {
      let store = try LocalStore(path: path)
      try store.database.write { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('of the future')") }
      try store.database.close()
    }
    for open in [{ _ = try LocalStore(path: path) }, { _ = try LocalHistory(path: path) }] {
      #expect {
        try open()
      } throws: { error in
        let failure = error as? Failure
        return failure?.name == .databaseError && failure?.message.contains("later version") == true
      }
    }
    #expect(access(path, F_OK) == 0)
  }

  @Test("Cursors continue to grow after a damaged local store, whatever its old cursors were.")
  func cursors() throws {
    var last: Int64 = 0
    for _ in 0..<3 {
      let store = try LocalStore(path: path)
      let next = try EventCursor(store: store).start
      #expect(next > last || last == 0)
      last = next
      try store.database.close()
      write("this is no database. " + String(repeating: "x", count: 5000), to: path)
    }
    #expect(last > 1_700_000_000_000_000 && last < 1 << 53)
  }

  @Test("Damage that appears while messages are stored loses neither them nor the outbox.")
  func duringWork() async throws {
    let store = try LocalStore(path: path)
    let waiting = OutboxMessage(id: "1", to: try .init("b@c"), body: "waiting", accepted: 5)
    try await store.change { database in
      _ = try waiting.accept("a@b", own: "a@b", database)
      try StreamRecord.save(archivePosition: "p", of: "a@b", database)
      // The page of an index becomes something else.
      try database.execute(sql: "PRAGMA writable_schema = ON")
      try database.execute(
        sql: """
          UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM sqlite_master WHERE name = 'messages')
          WHERE name = 'messagesByPeer'
          """)
      try database.execute(sql: "PRAGMA writable_schema = RESET")
    }
    let isNew = try await store.change(durably: true) {
      try message("arrives", time: 9).insert("a@b", cursor: 5, $0) != nil
    }
    #expect(isNew)
    #expect(store.movedAside?.hasPrefix(path + ".corrupt-") == true)
    #expect(try bodies() == ["arrives"])
    let (left, record) = try await store.change { database in
      (try OutboxMessage.all(of: "a@b", database), try StreamRecord.load("a@b", database))
    }
    #expect(left.map(\.body) == ["waiting"] && record.archivePosition == "p")
  }

  @Test("A damaged search index is rebuilt from the messages.")
  func index() async throws {
    let store = try LocalStore(path: path)
    try await store.change { _ = try message("one two", time: 1).insert("a@b", cursor: 1, $0) }
    try await store.change { database in
      try database.execute(sql: "UPDATE search_data SET block = x'00' WHERE id = 1")
      try database.execute(sql: "UPDATE search_data SET block = x'ffffffffff' WHERE id <> 1")
    }
    try await store.change { _ = try message("two three", time: 2).insert("a@b", cursor: 2, $0) }
    #expect(store.movedAside == nil)
    #expect(try bodies("two").count == 2)
  }
}
