import AgentProtocol
import Glibc
import Logging
import NIOConcurrencyHelpers
import TestSupport
import Testing
import XMPPSASL

@testable import AgentStore
@testable import AgentSystem

@Suite(.timeLimit(.minutes(4))) struct AccountsOnDiskTests {
  private let directory: TemporaryDirectory
  private let accounts: AccountsOnDisk
  /// Another process with the same files.
  private let other: AccountStore

  init() throws {
    directory = try TemporaryDirectory()
    let log = AgentLog(path: directory.path + "/log", limit: 1 << 20).logger("test")
    accounts = AccountsOnDisk(directory: directory.path + "/config", log: log)
    other = AccountStore(directory: directory.path + "/config")
  }

  private static func add(_ jid: String, to store: AccountStore) throws(Failure) {
    try store.update { file throws(Failure) in
      var account = Account(account: jid, domain: "example.org")
      account.isLogin = true
      file[jid] = account
    }
  }

  @Test("A change of the accounts file by another process is reported, and one by this process is not.")
  func news() async throws {
    #expect(await accounts.news() == [])
    try Self.add("own@example.org", to: accounts.store)
    #expect(await accounts.news() == [])
    try Self.add("theirs@example.org", to: other)
    #expect(await accounts.news().map(\.account) == ["theirs@example.org"])
    #expect(await accounts.news() == [])
  }

  @Test("Every field of an account is the same after writing it to the disk and reading it.")
  func survives() async throws {
    try accounts.store.update { file throws(Failure) in
      var account = Account(account: "a@example.org", domain: "example.org")
      account.password = Secret("päss\u{1f600}\n")
      account.isLogin = true
      account.maxRetries = 3
      account.options.port = 5222
      account.noPresence = true
      account.presence = DesiredPresence(Availability(show: .away, status: "\u{7}", priority: -1))
      account.lastState = LastState(
        state: .kicked, cause: Failure(.kicked, stage: .stream, text: "x"), time: "t")
      account.deviceId = "d"
      file["a@example.org"] = account
    }
    // Decoded, not remembered.
    let again = AccountStore(directory: directory.path + "/config")
    #expect(try again.load() == accounts.store.load())
    #expect(await accounts.news() == [])
  }

  @Test("An unreadable accounts file is logged once and changes nothing until it can be read again.")
  func broken() async throws {
    try Self.add("a@example.org", to: accounts.store)
    let good = try #require(contents(accounts.store.path))
    write("{\"accounts\": [", to: accounts.store.path)
    for _ in 0..<3 { #expect(await accounts.news() == []) }
    #expect(accounts.failure?.name == .databaseError)
    #expect(accounts.failure?.message.contains("not JSON") == true)
    write(good.replacing("\"isLogin\" : true", with: "\"isLogin\" : false"), to: accounts.store.path)
    #expect(await accounts.news().map(\.consequence) == [.logOut])
    #expect(accounts.failure == nil)
    let log = try #require(contents(directory.path + "/log"))
    #expect(log.split(separator: "\n").count { $0.contains("cannot be read") } == 1)
    #expect(log.contains("can be read again"))
  }

  @Test("Every way to change the accounts file is noticed, even a replacement of its whole directory.")
  func watched() async throws {
    final class Looks: Sendable {
      private let number = NIOLockedValueBox(0)
      var count: Int { number.withLockedValue { $0 } }
      func add() { number.withLockedValue { $0 += 1 } }
    }
    let looks = Looks()
    let watching = Task { [accounts] in await accounts.watch { looks.add() } }
    defer { watching.cancel() }
    func noticed(after change: () throws -> Void) async throws {
      let before = looks.count
      try change()
      try await eventually { looks.count > before }
    }
    try await noticed {}
    let path = accounts.store.path
    try await noticed { try Self.add("a@example.org", to: other) }
    try await noticed { write(contents(path) ?? "", to: path) }
    try await noticed {
      rename(path, path + ".old")
      rename(path + ".old", path)
    }
    try await noticed { unlink(path) }
    try await noticed {
      rename(directory.path + "/config", directory.path + "/gone")
      try Self.add("b@example.org", to: other)
    }
  }

  @Test("Changes to other files in the directory are ignored.")
  func beside() async throws {
    try PrivateDirectory.ensure(directory.path + "/config")
    let changes = try DirectoryWatch.changes(of: AccountStore.fileName, in: directory.path + "/config")
    write("x", to: directory.path + "/config/accounts.json.bak")
    write("x", to: directory.path + "/config/other")
    rmdir(directory.path + "/config")
    unlink(directory.path + "/config/accounts.json.bak")
    unlink(directory.path + "/config/other")
    rmdir(directory.path + "/config")
    var count = 0
    for await _ in changes { count += 1 }
    #expect(count == 0)
  }
}
