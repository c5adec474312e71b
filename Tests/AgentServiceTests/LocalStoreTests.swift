import AgentProtocol
import Glibc
import TestSupport
import Testing

@testable import AgentService
@testable import AgentStore

@Suite struct LocalStoreTests {
  private let directory: TemporaryDirectory
  private var path: String { directory.paths.database }

  init() throws { directory = try TemporaryDirectory() }

  @Test("The database and its additional files have mode 0600 in a directory of mode 0700.")
  func modes() throws {
    let store = try LocalStore(path: path)
    _ = try store.reserveCursors(1)
    #expect(mode(directory.paths.state) == 0o700)
    for suffix in ["", "-wal", "-shm"] { #expect(mode(path + suffix) == 0o600, "\(suffix)") }
    #expect(store.movedAside == nil)
  }

  @Test("Cursors are never used twice, even after a restart.")
  func cursors() throws {
    var last: Int64 = 0
    for _ in 0..<3 {
      let store = try LocalStore(path: path)
      for count in [1, 1000, 1 << 20] as [Int64] {
        #expect(try store.reserveCursors(count) == last)
        last += count
      }
    }
  }

  @Test(
    "The events of the next agent have greater cursors, and a used block of cursors is followed by another."
  )
  func restart() async throws {
    var newest: Int64 = 0
    for _ in 0..<2 {
      let cursor = try EventCursor(store: LocalStore(path: path))
      let hub = cursor.hub()
      for _ in 0..<10 {
        let event = hub.publish(account: "a@b", .gap)
        #expect(event.cursor > newest)
        newest = event.cursor
      }
    }
    let store = try LocalStore(path: path)
    let cursor = try EventCursor(store: store)
    cursor.used(cursor.start + EventCursor.block - 1)
    var reserved = try store.reserveCursors(0)
    while reserved == cursor.start + EventCursor.block {
      await Task.yield()
      reserved = try store.reserveCursors(0)
    }
    #expect(reserved == cursor.start + 2 * EventCursor.block)
  }

  @Test("A damaged database is moved aside and replaced by a new one.", arguments: [0, 100, 5000])
  func damaged(length: Int) throws {
    do { _ = try LocalStore(path: path).reserveCursors(5) }
    for suffix in ["-wal", "-shm"] { unlink(path + suffix) }
    let garbage = String(repeating: "not a database. ", count: 1000)
    write(length == 0 ? garbage : String(garbage.prefix(length)), to: path)
    let store = try LocalStore(path: path)
    let aside = try #require(store.movedAside)
    #expect(aside.hasPrefix(path + ".corrupt-"))
    #expect(contents(aside)?.hasPrefix("not a database") == true)
    #expect(mode(aside) == 0o600)
    #expect(try store.reserveCursors(1) > 5)
  }

  @Test("A database that cannot be created is a databaseError that names the path.")
  func impossible() throws {
    // A directory in its place: root may write everywhere.
    try PrivateDirectory.ensure(path)
    do {
      _ = try LocalStore(path: path)
      Issue.record("opened")
    } catch {
      #expect(error.name == .databaseError && error.code == 33002 && error.exit == 73)
      #expect(error.message.contains(path))
    }
  }

  @Test("A symbolic link in place of the database is refused.")
  func link() throws {
    let target = directory.path + "/elsewhere"
    write("", to: target)
    try PrivateDirectory.ensure(directory.paths.state)
    symlink(target, path)
    #expect(throws: Failure.self) { try LocalStore(path: path) }
    #expect(contents(target) == "")
  }
}
