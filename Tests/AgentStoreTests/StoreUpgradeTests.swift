import AgentProtocol
import GRDB
import Glibc
import NIOConcurrencyHelpers
import TestSupport
import Testing
import XMPPStanza

@testable import AgentStore
@testable import AgentSystem

/// A database of version 0.1, in which the outbox is a table of its own, and what becomes of it.
@Suite("The upgrade of a database of version 0.1", .serialized, .timeLimit(.minutes(4)))
struct StoreUpgradeTests {
  private let directory: TemporaryDirectory
  private var path: String { directory.paths.database }
  private static let account = "alice@im.example"

  init() throws {
    directory = try TemporaryDirectory()
    try PrivateDirectory.ensure(directory.paths.state)
  }

  /// Makes a database as version 0.1 has left it, with rows of all kinds.
  private func make(more: Int = 0) throws {
    let database = try LocalStore.connect(path)
    try Schema.migrator().migrate(database, upTo: Schema.beforeOneRow)
    try database.write { database in
      func message(
        _ cursor: Int64, _ body: String?, id: String? = nil, isSent: Bool = false, outbox: Bool = false,
        origin: String? = nil, archive: String? = nil, place: Int64? = nil, retracts: String? = nil
      ) throws {
        let (own, peer) = (Self.account, "bob@im.example")
        try database.execute(
          sql: """
            INSERT INTO messages (cursor, account, direction, sender, time, id, originID, archiveID, fromJID, toJID, type,
              body, isCarbon, isDelayed, isEncrypted, isFromOutbox, place, retracts)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'chat', ?, 0, 0, 0, ?, ?, ?)
            """,
          arguments: [
            cursor, own, isSent ? 1 : 0, isSent ? own : peer, Double(cursor), id, origin, archive,
            isSent ? own : peer + "/x", isSent ? peer : own, body, outbox, place, retracts,
          ])
        guard let place else { return }
        try database.execute(
          sql: "INSERT INTO search (rowid, body) VALUES (?, ?)", arguments: [place, body])
      }
      func receipt(_ cursor: Int64, _ id: String, _ kind: String, text: String? = nil) throws {
        try database.execute(
          sql: """
            INSERT INTO receipts (cursor, account, id, kind, who, fromJID, time, condition)
            VALUES (?, ?, ?, ?, 'bob@im.example', 'bob@im.example/x', 9, ?)
            """, arguments: [cursor, Self.account, id, kind, kind == "failed" ? "item-not-found" : nil])
      }
      func waiting(_ position: Int64, _ id: String, isSent: Bool = false, account: String = Self.account)
        throws
      {
        try database.execute(
          sql: """
            INSERT INTO outbox (position, account, id, toJID, type, body, subject, thread, accepted, isSent, since,
              asksReceipt, replaces)
            VALUES (?, ?, ?, 'bob@im.example', 'chat', 'waits ' || ?, 'about', 'talk', ?, ?, ?, ?, ?)
            """,
          arguments: [
            position, account, id, id, 5.5, isSent, isSent ? "s" : nil, !isSent, isSent ? "sent-1" : nil,
          ])
      }
      try message(-2, nil, id: "r", retracts: "gone")
      try message(-1, "past", archive: "a0", place: 1)
      try message(1, "received", id: "b1", archive: "a1", place: 2)
      try message(2, "sent", id: "sent-1", isSent: true, outbox: true, origin: "sent-1", place: 3)
      try message(4, "delivered", id: "sent-2", isSent: true, outbox: true, origin: "sent-2", place: 4)
      try message(6, "seen", id: "sent-3", isSent: true, outbox: true, origin: "sent-3", place: 5)
      try message(8, "refused", id: "sent-4", isSent: true, outbox: true, origin: "sent-4", place: 6)
      try message(10, "of another device", id: "other-1", isSent: true, origin: "other-1", place: 7)
      try message(11, "copy", id: "back-1", isSent: true, origin: "back-1", archive: "a2", place: 8)
      try receipt(12, "sent-2", "delivered")
      try receipt(13, "sent-3", "delivered")
      try receipt(14, "sent-3", "displayed")
      try receipt(15, "sent-4", "failed")
      for number in 0..<Int64(more) { try message(100 + number, "more \(number)", place: 1000 + number) }
      try waiting(3, "waits-1", isSent: true)
      try waiting(4, "waits-2")
      // A copy of it has come back while it waited.
      try waiting(5, "back-1", isSent: true)
      try waiting(7, "waits-3", account: "carol@im.example")
    }
    try database.close()
  }

  /// What is in an upgraded database, in words.
  private func description(_ path: String) throws -> [String] {
    let database = try LocalStore.connect(path)
    defer { try? database.close() }
    return try database.read { database in
      #expect(try LocalStore.isCurrent(database))
      #expect(try String.fetchAll(database, sql: "PRAGMA integrity_check") == ["ok"])
      return try Row.fetchAll(
        database,
        sql: """
          SELECT coalesce(cursor, '-') || ' ' || coalesce(place, '-') || ' ' || delivery || ' ' || coalesce(body, '-')
          FROM messages WHERE body IS NULL OR body NOT LIKE 'more %' ORDER BY position
          """
      ).map { $0[0] }
    }
  }

  private let upgraded = [
    "- - 0 -", "- 1 0 past", "1 2 0 received", "2 3 1 sent", "4 4 2 delivered", "6 5 3 seen", "8 6 4 refused",
    "10 7 0 of another device", "11 8 0 copy", "- - -1 waits waits-1", "- - -2 waits waits-2",
    "- - -2 waits waits-3",
  ]

  @Test(
    "An upgrade keeps all content and the order of the outbox, and a copy until an agent has ended properly."
  )
  func everything() async throws {
    try make()
    let store = try LocalStore(path: path)
    #expect(try description(path) == upgraded)
    let waiting = try await store.change { try OutboxMessage.all(of: Self.account, $0) }
    #expect(waiting.map(\.id) == ["waits-1", "waits-2"] && waiting.map(\.isSent) == [true, false])
    #expect(waiting.map(\.since) == ["s", nil] && waiting.map(\.accepted) == [5.5, 5.5])
    #expect(waiting.map(\.asksReceipt) == [false, true] && waiting.map(\.replaces) == ["sent-1", nil])
    #expect(
      waiting[0].body == "waits waits-1" && waiting[0].subject == "about" && waiting[0].thread == "talk")
    #expect(waiting[0].to.description == "bob@im.example" && waiting[0].type == .chat)
    // What is accepted next comes behind.
    let next = OutboxMessage(id: "next-1", to: waiting[0].to, body: "x", accepted: 6)
    let acceptance = try await store.change { try next.accept(Self.account, own: Self.account, $0) }
    guard case .accepted(let position) = acceptance else { throw CancellationError() }
    #expect(position > waiting[1].position)
    let copy = path + StoreUpgrade.copySuffix
    #expect(mode(copy) == 0o600)
    let old = try DatabaseQueue(path: copy)
    #expect(try await old.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM outbox") } == 4)
    try old.close()
    #expect(access(directory.paths.upgrade, F_OK) != 0)
    store.finish()
    #expect(access(copy, F_OK) != 0)
  }

  @Test("An upgrade leaves the history, its search and the events unchanged.")
  func history() async throws {
    try make()
    let store = try LocalStore(path: path)
    func bodies(_ words: String...) throws -> [String?] {
      var query = HistoryQuery(account: Self.account)
      query.words = words
      var bodies: [String?] = []
      try LocalHistory(path: path)?.read(query) { event in
        if case .message(let message) = event.body { bodies.append(message.body) }
      }
      return bodies
    }
    #expect(
      try bodies() == [
        "past", "received", "sent", "delivered", "seen", "refused", "of another device", "copy",
      ])
    #expect(try bodies("delivered") == ["delivered"] && bodies("waits").isEmpty)
    let events = try await store.replay(after: 0, until: 100, account: Self.account).events
    #expect(events.map(\.cursor) == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15])
    #expect(
      try await store.read { try StoredConversations.list(Self.account, $0) }.map(\.unread) == [1])
  }

  /// Copies the files as a process leaves them that is killed at this moment. Another process does so: if this one closed
  /// them, SQLite would lose its locks.
  private func leave(_ number: Int) -> String {
    let target = directory.path + "/killed-\(number)"
    let status = system("mkdir -m 700 \(target) && cp \(path)* \(target)/")
    #expect(status == 0)
    return target + path[path.lastIndex(of: "/")!...]
  }

  @Test("An upgrade that is killed at any point has changed nothing, and the next one does all of it.")
  func killed() async throws {
    try make(more: 45_000)
    let left = NIOLockedValueBox<[String]>([])
    StoreUpgrade.terms.withLockedValue { terms in
      terms.onProgress = { _ in left.withLockedValue { $0.append(leave($0.count)) } }
    }
    defer { StoreUpgrade.terms.withLockedValue { $0.onProgress = { _ in } } }
    _ = try LocalStore(path: path)
    StoreUpgrade.terms.withLockedValue { $0.onProgress = { _ in } }
    #expect(try description(path) == upgraded)
    let all = left.withLockedValue { $0 }
    #expect(all.count >= 8)
    for path in all {
      let database = try DatabaseQueue(path: path)
      #expect(try await database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM outbox") } == 4)
      try database.close()
      _ = try LocalStore(path: path)
      #expect(try description(path) == upgraded)
    }
  }

  @Test("An upgrade that fails leaves the database unchanged and without a copy, and is reported.")
  func failing() async throws {
    try make()
    do {
      let database = try LocalStore.connect(path)
      // A table of that name is in the way.
      try await database.write { try $0.execute(sql: "CREATE TABLE messagesByCursor (a)") }
      try database.close()
    }
    #expect {
      _ = try LocalStore(path: path)
    } throws: { error in
      (error as? Failure)?.name == .databaseError
        && (error as? Failure)?.message.contains("could not be upgraded, and is unchanged") == true
    }
    #expect(access(path + StoreUpgrade.copySuffix, F_OK) != 0)
    let database = try LocalStore.connect(path)
    #expect(try await database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM outbox") } == 4)
    try await database.write { try $0.execute(sql: "DROP TABLE messagesByCursor") }
    try database.close()
    _ = try LocalStore(path: path)
    #expect(try description(path) == upgraded)
  }

  @Test("A command does not upgrade a database that an agent of version 0.1 is using.")
  func running() throws {
    try make()
    StoreUpgrade.terms.withLockedValue { $0.isAgent = false }
    do {
      let lock = try FileDescriptor(opening: directory.paths.lock, O_RDWR | O_CREAT)
      #expect(try lock.lock())
      #expect {
        _ = try LocalHistory(path: path)
      } throws: { error in
        (error as? Failure)?.message.contains("imctl agent restart") == true
      }
      var session = SessionStatus(account: Self.account, state: .offline)
      session = try LocalStore.countQueued([session], at: path)[0]
      #expect(session.queued == 3)
      #expect(try LocalStore.accepted(["waits-1"], of: Self.account, at: path) == [])
      // So does not the agent that has the lock.
      StoreUpgrade.terms.withLockedValue { $0.isAgent = true }
      defer { StoreUpgrade.terms.withLockedValue { $0.isAgent = false } }
      _ = try LocalStore(path: path)
    }
    #expect(try description(path) == upgraded)
  }

  @Test("An upgraded outbox moves into the history when it is sent, and receipts reach messages from before.")
  func goingOn() async throws {
    try make()
    let store = try LocalStore(path: path)
    let own = Self.account
    try await store.change { database in
      let settled = try OutboxMessage.find("waits-1", of: own, database)?
        .settle(own, own: own, cursor: 20, database)
      #expect(settled?.body == "waits waits-1" && settled?.time == 5.5)
      let receipt = ReceiptEvent(id: "sent-1", kind: .delivered, from: "bob@im.example/x")
      let stored = StoredReceipt(receipt: receipt, time: 9, sender: try JID("bob@im.example/x"))
      #expect(try stored.insert(own, own: own, cursor: 22, database))
      #expect(try OutboxMessage.all(of: own, database).map(\.id) == ["waits-2"])
    }
    let rows = try description(path)
    #expect(rows.contains("2 3 2 sent") && rows.contains("- - -2 waits waits-2"))
    #expect(rows.contains { $0.hasPrefix("20 ") && $0.hasSuffix(" 1 waits waits-1") })
    let events = try await store.replay(after: 15, until: 100, account: own).events
    #expect(events.map(\.cursor) == [20, 21, 22] && events.map(\.name) == ["message", "receipt", "receipt"])
  }

  @Test("The copy of an earlier database is removed with an account that is forgotten.")
  func forgotten() async throws {
    try make()
    let store = try LocalStore(path: path)
    #expect(access(path + StoreUpgrade.copySuffix, F_OK) == 0)
    try await store.forget(Self.account)
    #expect(access(path + StoreUpgrade.copySuffix, F_OK) != 0)
    #expect(try description(path) == ["- - -2 waits waits-3"])
  }

  @Test("An agent of version 0.1 refuses the upgraded database.")
  func refused() async throws {
    _ = try LocalStore(path: path)
    // As that version looks at it, which knows these migrations.
    var migrator = DatabaseMigrator()
    for name in Schema.migrator().migrations where name != Schema.oneRow {
      migrator.registerMigration(name) { _ in }
    }
    let database = try LocalStore.connect(path)
    let isRefused = try await database.read { [migrator] in try migrator.hasBeenSuperseded($0) }
    #expect(isRefused)
  }

  @Test("A damaged database of version 0.1 is upgraded with everything that can be read.")
  func damaged() async throws {
    try make()
    do {
      let database = try DatabaseQueue(path: path)
      let page = try await database.read {
        try #require(
          try Int.fetchOne($0, sql: "SELECT rootpage FROM sqlite_master WHERE name = 'messagesByPeer'"))
      }
      _ = try await database.writeWithoutTransaction { try $0.checkpoint(.truncate) }
      try database.close()
      let file = try FileDescriptor(opening: path, O_RDWR)
      let garbage = [UInt8](repeating: 0xA5, count: 4096)
      #expect(pwrite(file.number, garbage, garbage.count, off_t((page - 1) * 4096)) == 4096)
    }
    let store = try LocalStore(path: path)
    let damage = try #require(store.condition.damage)
    #expect(damage.salvage.isOutboxKnown && damage.salvage.lost.isEmpty)
    #expect(try description(path) == upgraded)
  }
}
