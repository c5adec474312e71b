import AgentProtocol
import GRDB
import Glibc
import TestSupport
import Testing

@testable import AgentStore
@testable import AgentSystem

@Suite("The write-ahead log of the local store", .timeLimit(.minutes(4)))
struct StoreLogTests {
  private let directory: TemporaryDirectory
  private var path: String { directory.paths.database }

  init() throws { directory = try TemporaryDirectory() }

  private var logSize: Int {
    var status = stat()
    return stat(path + "-wal", &status) == 0 ? status.st_size : 0
  }

  private func fill(_ store: LocalStore, megabytes: Int) async throws {
    for _ in 0..<megabytes {
      try await store.change {
        try $0.execute(
          sql: "INSERT OR REPLACE INTO meta (key, value) VALUES ('filling', ?)",
          arguments: [String(repeating: "x", count: 1 << 20)])
      }
    }
  }

  @Test("A copy of the database file alone is complete after the agent has ended.")
  func end() async throws {
    let store = try LocalStore(path: path)
    try await store.change { try $0.execute(sql: "INSERT INTO meta (key, value) VALUES ('last', 7)") }
    #expect(logSize > 0)
    store.finish()
    #expect(logSize == 0)
    let copy = directory.path + "/copy.sqlite"
    let bytes = try #require(try FileDescriptor(opening: path, O_RDONLY).read(limit: 1 << 24))
    try FileDescriptor(opening: copy, O_WRONLY | O_CREAT | O_TRUNC).write(bytes)
    let value = try await DatabaseQueue(path: copy).read {
      try Int.fetchOne($0, sql: "SELECT value FROM meta WHERE key = 'last'")
    }
    #expect(value == 7)
  }

  @Test("Data that is written after the end of the log is stored and can be read.")
  func afterEnd() async throws {
    let store = try LocalStore(path: path)
    store.finish()
    try await store.change { try $0.execute(sql: "INSERT INTO meta (key, value) VALUES ('late', 7)") }
    #expect(
      try await store.read { try Int.fetchOne($0, sql: "SELECT value FROM meta WHERE key = 'late'") } == 7)
    store.finish()
    #expect(logSize == 0)
  }

  @Test("The log is emptied some time after every change.")
  func tidied() async throws {
    let store = try LocalStore(path: path, tidiness: .zero)
    for _ in 0..<3 {
      try await fill(store, megabytes: 1)
      try await eventually { logSize == 0 }
    }
  }

  @Test(
    "A reader that makes the log grow is not waited for, and the log shrinks once the reader has finished."
  )
  func reader() async throws {
    let store = try LocalStore(path: path)
    try await fill(store, megabytes: 1)
    var configuration = Configuration()
    configuration.readonly = true
    configuration.allowsUnsafeTransactions = true
    let reader = try DatabaseQueue(path: path, configuration: configuration)
    try await reader.writeWithoutTransaction { database in
      try database.execute(sql: "BEGIN")
      _ = try Row.fetchAll(database, sql: "SELECT key FROM meta")
    }
    try await fill(store, megabytes: 40)
    store.tidy()
    #expect(logSize > 20 << 20)
    try await reader.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
    // Also where it is written without a pause.
    try await fill(store, megabytes: 2)
    #expect(logSize <= 17 << 20)
    store.tidy()
    #expect(logSize == 0)
  }
}
