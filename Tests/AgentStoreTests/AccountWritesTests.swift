import AgentProtocol
import Glibc
import NIOConcurrencyHelpers
import TestSupport
import Testing

@testable import AgentStore
@testable import AgentSystem

@Suite struct AccountWritesTests {
  private let directory: TemporaryDirectory
  private var store: AccountStore

  init() throws {
    directory = try TemporaryDirectory()
    store = AccountStore(directory: directory.path + "/config")
  }

  private func add(_ number: Int) async throws(Failure) {
    try await store.updateInBackground { file in
      let jid = "a\(number)@example.org"
      file[jid] = Account(account: jid, domain: "example.org")
    }
  }

  @Test(
    "Concurrent changes are written together, and each is on the disk when its call returns.")
  func together() async throws {
    var store = store
    let written = NIOLockedValueBox(0)
    store.before = { step in if step == .write { written.withLockedValue { $0 += 1 } } }
    let shared = store
    try await withThrowingTaskGroup { group in
      for number in 0..<200 {
        group.addTask {
          let jid = "a\(number)@example.org"
          try await shared.updateInBackground { file in
            file[jid] = Account(account: jid, domain: "example.org")
          }
          // Another store, as another process has it.
          #expect(try AccountStore(directory: shared.directory).load()[jid] != nil)
        }
      }
      try await group.waitForAll()
    }
    #expect(try store.load().accounts.count == 200)
    #expect(written.withLockedValue { $0 } < 200)
  }

  @Test("A change returns its result, and starts from the changes before it.")
  func order() async throws {
    for number in 0..<3 {
      let count = try await store.updateInBackground { file in
        let jid = "b\(number)@example.org"
        file[jid] = Account(account: jid, domain: "example.org")
        return file.accounts.count
      }
      #expect(count == number + 1)
    }
  }

  @Test("Every change that could not be written fails, and the next changes are written.")
  func failure() async throws {
    var store = store
    let isFull = NIOLockedValueBox(true)
    store.before = { step throws(Errno) in
      if step == .synchronise, isFull.withLockedValue({ $0 }) { throw Errno(ENOSPC) }
    }
    let shared = store
    let failures = await withTaskGroup { group in
      for number in 0..<20 {
        group.addTask {
          do throws(Failure) {
            try await shared.updateInBackground { file in
              let jid = "a\(number)@example.org"
              file[jid] = Account(account: jid, domain: "example.org")
            }
            return 0
          } catch {
            return error.name == .databaseError ? 1 : 100
          }
        }
      }
      return await group.reduce(0, +)
    }
    #expect(failures == 20)
    #expect(try store.load().accounts.isEmpty)
    isFull.withLockedValue { $0 = false }
    try await shared.updateInBackground {
      $0["c@example.org"] = Account(account: "c@example.org", domain: "example.org")
    }
    #expect(try store.load().accounts.map(\.account) == ["c@example.org"])
  }

  @Test("A change starts from the file that another process has written in the meantime.")
  func others() async throws {
    try await add(1)
    _ = try store.load()
    try AccountStore(directory: store.directory).update { file throws(Failure) in
      file["a1@example.org"]?.isLogin = true
      file["a2@example.org"] = Account(account: "a2@example.org", domain: "example.org")
    }
    #expect(try store.load()["a1@example.org"]?.isLogin == true)
    try await add(3)
    #expect(try store.load().accounts.count == 3)
    // An editor that writes in place.
    let text = try #require(contents(store.path))
    write(text.replacing("a3@example.org", with: "another@example.org"), to: store.path)
    #expect(try store.load()["another@example.org"] != nil)
    #expect(try store.load()["a3@example.org"] == nil)
  }
}
