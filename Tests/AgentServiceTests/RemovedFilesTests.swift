import AgentProtocol
import GRDB
import Glibc
import Logging
import TestSupport
import Testing

@testable import AgentService
@testable import AgentStore
@testable import AgentSystem

@Suite("Files that are removed while the agent runs", .timeLimit(.minutes(4)))
struct RemovedFilesTests {
  private let directory: TemporaryDirectory
  private var paths: AgentPaths { directory.paths }

  init() throws { directory = try TemporaryDirectory() }

  private func keep(_ key: String, in store: LocalStore) async throws {
    try await store.change {
      try $0.execute(sql: "INSERT INTO meta (key, value) VALUES (?, 1)", arguments: [key])
    }
  }

  /// What another process finds.
  private func keys() throws -> [String] {
    let reader = try LocalStore.reader(paths.database)
    return try reader.read {
      try String.fetchAll($0, sql: "SELECT key FROM meta WHERE value = 1 AND key <> 'flushes' ORDER BY key")
    }
  }

  /// Removes what is in the state directory; of it all, the directory, too.
  private func remove(_ names: [String]) {
    for name in names { unlink(paths.state + "/" + name) }
    rmdir(paths.state)
  }

  @Test(
    "A database whose files were removed is restored with all of its content.",
    arguments: [
      ["imctl.sqlite"], ["imctl.sqlite", "imctl.sqlite-wal"],
      ["imctl.sqlite", "imctl.sqlite-wal", "imctl.sqlite-shm"], ["imctl.sqlite-wal"],
      ["imctl.sqlite-wal", "imctl.sqlite-shm"], ["imctl.sqlite-shm"],
    ])
  func database(removed: [String]) async throws {
    let store = try LocalStore(path: paths.database)
    try await keep("a", in: store)
    store.tidy()
    try await keep("b", in: store)
    remove(removed)
    try await keep("c", in: store)
    #expect(try keys() == ["a", "b", "c"])
    #expect(mode(paths.database) == 0o600 && mode(paths.state) == 0o700)
    remove(removed)
    store.finish()
    #expect(try keys() == ["a", "b", "c"])
  }

  @Test("Another database in place of the removed one is not touched, and the agent writes no more.")
  func replaced() async throws {
    let store = try LocalStore(path: paths.database)
    try await keep("a", in: store)
    rename(paths.state, paths.state + ".old")
    do { try await keep("other", in: LocalStore(path: paths.database)) }
    await #expect {
      try await keep("b", in: store)
    } throws: { ($0 as? Failure)?.detail?.mentions([.store(.otherFile)]) == true }
    #expect(try keys() == ["other"])
    #expect(store.condition.obstacle != nil)
  }

  @Test("An agent whose files were removed restores them, and no second agent is started.")
  func agent() async throws {
    let lock = try AgentLock(paths)
    let store = try LocalStore(path: paths.database)
    let logger = Logger(label: "test")
    let server = AgentServer(lock: lock, hub: EventHub(cursor: 0), logger: logger)
    server.update(accounts: 1)
    let premises = AgentPremises(lock: lock, server: server, store: store, log: logger)
    let running = Task { try await run(server) }
    let keeping = Task { await premises.maintain { _ in Issue.record("given up") } }
    defer { keeping.cancel() }
    let all = [
      "imctl.sqlite", "imctl.sqlite-wal", "imctl.sqlite-shm", "agent.sock", "agent.lock", "agent.pid",
    ]
    let wanted: [String] = [paths.socket, paths.database, "\(paths.database)-wal"]
    for removed in [
      ["agent.sock"], ["agent.lock", "agent.sock"], all, ["imctl.sqlite"], ["imctl.sqlite-wal"],
    ] {
      try await eventually { access(paths.socket, F_OK) == 0 }
      remove(removed)
      // Another process that wants to be the agent; the first look at the directory may be under way.
      await Task.detached { [paths] in
        _ = #expect(throws: Failure(.alreadyRunning, stage: .store, detail: .text(paths.socket))) {
          _ = try AgentLock(paths)
        }
      }.value
      try await eventually { wanted.allSatisfy { access($0, F_OK) == 0 } }
    }
    try await Conversation.with(paths.socket) { client in
      _ = try await client.call(AgentStatusMethod.self, EmptyObject())
      _ = try await client.call(AgentStopMethod.self, EmptyObject())
    }
    try await running.value
    #expect(access(paths.socket, F_OK) != 0)
  }

  @Test("An agent whose lock file was replaced by that of another agent gives up.")
  func otherLock() async throws {
    let lock = try AgentLock(paths)
    unlink(paths.lock)
    let other = try FileDescriptor(opening: paths.lock, O_RDWR | O_CREAT)
    #expect(try other.lock())
    await Task.detached {
      _ = #expect(throws: Failure(.alreadyRunning, stage: .store, detail: .text(lock.paths.socket))) {
        try lock.restore()
      }
    }.value
  }

  @Test("The holder of the agent's name is the only agent, and the name is free when it ends.")
  func name() throws {
    do {
      let name = try AgentName(paths)
      #expect(throws: AgentName.Taken.self) { _ = try AgentName(paths) }
      _ = consume name
    }
    _ = try AgentName(paths)
  }
}
