import AgentProtocol
import GRDB
import Glibc
import NIOConcurrencyHelpers
import TestSupport
import Testing
import XMPPStanza

@testable import AgentService
@testable import AgentStore
@testable import AgentSystem

@Suite("Recovery of a damaged local store", .timeLimit(.minutes(4)))
struct SalvageTests {
  private let directory: TemporaryDirectory
  private var path: String { directory.paths.database }

  init() throws { directory = try TemporaryDirectory() }

  /// Three messages that are kept and two that wait to be sent.
  private func keep(in store: LocalStore) async throws {
    try await store.change { database in
      for cursor in 1...3 {
        let message = StoredMessage(
          direction: .received, sender: "b@c", time: Double(cursor), from: "b@c/d", to: "a@b", type: .chat,
          body: "word \(cursor)")
        _ = try message.insert("a@b", cursor: Int64(cursor), database)
      }
      for id in ["first", "second"] {
        _ = try OutboxMessage(id: id, to: try .init("b@c"), body: id, accepted: 5)
          .accept("a@b", own: "a@b", database)
      }
      try StreamRecord.save(archivePosition: "p", of: "a@b", database)
    }
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

  private func waiting(in store: LocalStore) async throws -> [String] {
    try await store.change { try OutboxMessage.all(of: "a@b", $0).map(\.id) }
  }

  @Test(
    "A malformed schema loses no content.",
    arguments: ["messages", "outbox", "messagesByPlace", "messagesByOriginID", "contacts"])
  func malformedSchema(name: String) async throws {
    do {
      let store = try LocalStore(path: path)
      try await keep(in: store)
      try await store.change { database in
        try database.execute(sql: "PRAGMA writable_schema = ON")
        try database.execute(
          sql: "UPDATE sqlite_master SET sql = 'CREATE TABL ' || name || '(' WHERE name = ?",
          arguments: [name])
        try database.execute(sql: "PRAGMA writable_schema = OFF")
      }
      store.finish()
    }
    let store = try LocalStore(path: path)
    #expect(try await waiting(in: store) == ["first", "second"])
    #expect(try bodies() == ["word 1", "word 2", "word 3"] && bodies("2") == ["word 2"])
    let damage = try #require(store.condition.damage)
    #expect(damage.salvage.lost.isEmpty && damage.salvage.isOutboxKnown)
    #expect(damage.failure.message.contains("no message that waited to be sent was lost"))
    #expect(access(damage.movedAside + ".reading", F_OK) != 0)
    #expect(try store.reserveCursors(1) > 3)
  }

  /// Overwrites the page where a table or an index begins.
  private func overwrite(_ name: String) throws {
    let page: Int
    do {
      let database = try DatabaseQueue(path: path)
      page = try database.read {
        try #require(
          try Int.fetchOne($0, sql: "SELECT rootpage FROM sqlite_master WHERE name = ?", arguments: [name]))
      }
      try database.close()
    }
    let file = try FileDescriptor(opening: path, O_RDWR)
    let garbage = [UInt8](repeating: 0xA5, count: 4096)
    #expect(pwrite(file.number, garbage, garbage.count, off_t((page - 1) * 4096)) == 4096)
  }

  @Test("Lost messages of the outbox are named to watchers and in the status.")
  func named() async throws {
    do {
      let store = try LocalStore(path: path)
      try await keep(in: store)
      store.finish()
    }
    try overwrite("messages")
    let store = try LocalStore(path: path)
    let told = NIOLockedValueBox([StoreNews]())
    store.tell { news in told.withLockedValue { $0.append(news) } }
    // The damage shows when somebody reads.
    #expect(try await store.read { try OutboxMessage.all(of: "a@b", $0) }.isEmpty)
    let damage = try #require(store.condition.damage)
    #expect(damage.salvage.lost == ["a@b": ["first", "second"]])
    #expect(damage.failure.message.contains("lost messages that waited to be sent: first, second"))
    #expect(told.withLockedValue { $0 } == [StoreNews(cause: damage.failure, lost: damage.salvage.lost)])
    #expect(store.condition.failures == [damage.failure])
  }

  @Test("The outbox is recovered from the messages if its own table is damaged.")
  func index() async throws {
    do {
      let store = try LocalStore(path: path)
      try await keep(in: store)
      store.finish()
    }
    try overwrite("outbox")
    let store = try LocalStore(path: path)
    #expect(try await waiting(in: store) == ["first", "second"])
    let damage = try #require(store.condition.damage)
    #expect(damage.salvage.lost.isEmpty && damage.salvage.isOutboxKnown)
    #expect(try bodies() == ["word 1", "word 2", "word 3"])
  }

  @Test("A damaged outbox whose content is unknown is reported.")
  func unknown() async throws {
    do {
      let store = try LocalStore(path: path)
      try await keep(in: store)
      store.finish()
    }
    try overwrite("messages")
    try overwrite("outbox")
    let store = try LocalStore(path: path)
    #expect(try await waiting(in: store).isEmpty)
    let damage = try #require(store.condition.damage)
    #expect(!damage.salvage.isOutboxKnown && damage.failure.message.contains("not all messages that waited"))
  }

  @Test("A large table is read from both of its ends up to the damaged place.")
  func bothEnds() async throws {
    do {
      let store = try LocalStore(path: path)
      try await store.change { database in
        for number in 1...2000 {
          _ = try OutboxMessage(id: "\(number)", to: try .init("b@c"), body: "word", accepted: 5)
            .accept("a@b", own: "a@b", database)
        }
      }
      store.finish()
    }
    // A leaf in the middle.
    do {
      let database = try DatabaseQueue(path: path)
      let page = try await database.read {
        try #require(
          try Int.fetchOne(
            $0,
            sql:
              "SELECT pageno FROM dbstat WHERE name = 'messages' AND (path GLOB '/00a/*' OR path = '/00a/') LIMIT 1"
          ))
      }
      try database.close()
      let file = try FileDescriptor(opening: path, O_RDWR)
      let garbage = [UInt8](repeating: 0xA5, count: 4096)
      #expect(pwrite(file.number, garbage, garbage.count, off_t((page - 1) * 4096)) == 4096)
    }
    let store = try LocalStore(path: path)
    let left = try await Set(waiting(in: store))
    #expect(left.contains("1") && left.contains("2000") && left.count > 1800 && left.count < 2000)
    let lost = try #require(store.condition.damage?.salvage.lost["a@b"])
    #expect(Set(lost).union(left).count == 2000 && Set(lost).isDisjoint(with: left))
  }

  @Test("Damage that appears while the agent reserves its cursors does not stop the agent.")
  func atStart() async throws {
    do {
      let store = try LocalStore(path: path)
      try await keep(in: store)
      store.finish()
    }
    try overwrite("meta")
    let store = try LocalStore(path: path)
    #expect(try EventCursor(store: store).start > 3)
    #expect(try await waiting(in: store) == ["first", "second"])
  }
}
