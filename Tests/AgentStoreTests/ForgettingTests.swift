import AgentProtocol
import FoundationEssentials
import GRDB
import TestSupport
import Testing
import XMPPStanza

@testable import AgentStore

@Suite("Forgotten accounts", .timeLimit(.minutes(4)))
struct ForgettingTests {
  private let directory: TemporaryDirectory
  private var path: String { directory.paths.database }

  init() throws { directory = try TemporaryDirectory() }

  /// The words that are in any file of the store.
  private func found(_ words: [String]) throws -> Set<String> {
    let state = String(path[..<(path.lastIndex(of: "/") ?? path.endIndex)])
    var found: Set<String> = []
    for file in try FileManager.default.contentsOfDirectory(atPath: state) {
      let bytes = try Data(contentsOf: URL(filePath: state + "/" + file))
      let text = String(decoding: bytes, as: UTF8.self).lowercased()
      found.formUnion(words.filter(text.contains))
    }
    return found
  }

  /// Keeps a message for each of the words, and one that waits to be sent.
  private func keep(_ words: [String], of account: String, from cursor: Int64, in store: LocalStore)
    async throws
  {
    for (index, word) in words.enumerated() {
      let message = StoredMessage(
        direction: .received, sender: "b@c", time: Double(index), from: "b@c", to: account, type: .chat,
        body: "the \(word) is here")
      try await store.change { database in
        _ = try message.insert(account, cursor: cursor + Int64(index), database)
      }
    }
  }

  private static let secret = ["xylophone", "quicksilver", "马铃薯"]
  private static let others = ["marmalade", "thunderbolt"]

  private func store() async throws -> LocalStore {
    let store = try LocalStore(path: path)
    try await keep(Self.secret, of: "a@b", from: 1, in: store)
    try await keep(Self.others, of: "other@b", from: 100, in: store)
    #expect(try found(Self.secret + Self.others) == Set(Self.secret + Self.others))
    return store
  }

  @Test(
    "A running agent leaves no word of a forgotten account in any file, and keeps those of other accounts."
  )
  func forgotten() async throws {
    let store = try await store()
    try Data("a quicksilver of before".utf8).write(to: URL(filePath: path + ".corrupt-1"))
    try await store.forget("a@b")
    #expect(try found(Self.secret + Self.others) == Set(Self.others))
    var query = HistoryQuery(account: "other@b")
    query.words = ["marmalade"]
    var count = 0
    try #require(try LocalHistory(path: path)).read(query) { _ in count += 1 }
    #expect(count == 1)
  }

  @Test("A command leaves no word of a forgotten account in any file while no agent is running.")
  func withoutAgent() async throws {
    var store: LocalStore? = try await store()
    try store?.database.close()
    store = nil
    try LocalStore.forget("a@b", at: path)
    #expect(try found(Self.secret + Self.others) == Set(Self.others))
  }

  @Test(
    "A forgotten account leaves nothing that an earlier version has deleted without overwriting it.")
  func deletedBefore() async throws {
    let store = try await store()
    try await store.database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA secure_delete = OFF") }
    try await store.change { try $0.execute(sql: "DELETE FROM messages WHERE account = 'a@b'") }
    try await store.forget("a@b")
    #expect(try found(Self.secret + Self.others) == Set(Self.others))
  }

  @Test("A forgotten account is reported as not yet gone while another process keeps reading the database.")
  func reader() async throws {
    let store = try await store()
    try await store.database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA busy_timeout = 10") }
    var configuration = Configuration()
    configuration.readonly = true
    configuration.allowsUnsafeTransactions = true
    let reader = try DatabaseQueue(path: path, configuration: configuration)
    try await reader.writeWithoutTransaction { database in
      try database.execute(sql: "BEGIN")
      _ = try Row.fetchAll(database, sql: "SELECT * FROM messages")
    }
    await #expect(throws: Failure.self) { try await store.forget("a@b", patience: .zero) }
    try await reader.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
    try await store.forget("a@b")
    #expect(try found(Self.secret).isEmpty)
  }
}
