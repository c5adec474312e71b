import AgentProtocol
import Glibc
import Logging
import TestSupport
import Testing

@testable import AgentStore
@testable import AgentSystem

@Suite("Accounts files that cannot be read or written", .timeLimit(.minutes(4)))
struct DamagedAccountsTests {
  private let directory: TemporaryDirectory
  private let store: AccountStore

  init() throws {
    directory = try TemporaryDirectory()
    store = AccountStore(directory: directory.path + "/config")
  }

  private func add(_ jid: String) throws {
    try store.update { file throws(Failure) in file[jid] = Account(account: jid, domain: "example.org") }
  }

  @Test(
    "Large and precise numbers in unknown fields of the accounts file are kept unchanged.",
    arguments: [
      "18446744073709551615", "9223372036854775808", "-9223372036854775809",
      "12345678901234567890123456789012345678", "0.12345678901234567890123",
    ])
  func numbers(number: String) throws {
    try PrivateDirectory.ensure(store.directory)
    write(
      """
      {"version":1,"n":\(number),"accounts":[
        {"account":"a@example.org","domain":"example.org","isLogin":true,"n":[\(number)]}]}
      """, to: store.path)
    try add("b@example.org")
    let text = try #require(contents(store.path))
    #expect(text.ranges(of: number).count == 2, "\(text)")
  }

  @Test("An accounts file of a later version is reported as such and left unchanged.")
  func laterVersion() throws {
    try PrivateDirectory.ensure(store.directory)
    let text = #"{"version":2,"accounts":{"a@example.org":{}}}"#
    write(text, to: store.path)
    for attempt in [{ _ = try store.load() }, { try add("b@example.org") }] {
      #expect {
        try attempt()
      } throws: { error in
        let failure = error as? Failure
        return failure?.name == .databaseError
          && failure?.message.contains("\(store.path): made by a later version of imctl") == true
          && failure?.localized(.chinese).message.contains("更新版本") == true
      }
    }
    #expect(contents(store.path) == text)
  }

  @Test(
    "The last readable accounts remain in effect while the accounts file cannot be read, and the reason is reported."
  )
  func lastKnown() async throws {
    let log = AgentLog(path: directory.path + "/log", limit: 1 << 20).logger("test")
    let accounts = AccountsOnDisk(directory: store.directory, log: log)
    try add("a@example.org")
    #expect(try await accounts.load().accounts.count == 1 && accounts.failure == nil)
    let good = try #require(contents(store.path))
    write("{", to: store.path)
    #expect(try await accounts.load().accounts.map(\.account) == ["a@example.org"])
    #expect(accounts.failure?.detail?.description.contains("not JSON") == true)
    write(good, to: store.path)
    #expect(try await accounts.load().accounts.count == 1 && accounts.failure == nil)
    // Who has never read it knows nothing.
    write("{", to: store.path)
    await #expect(throws: Failure.self) {
      try await AccountsOnDisk(directory: store.directory, log: log).load()
    }
  }

  @Test("The accounts file is read without a lock on a read-only file system.", .enabled(if: geteuid() == 0))
  func readOnly() async throws {
    try add("a@example.org")
    unlink(store.directory + "/accounts.lock")
    chmod(store.path, 0o644)
    chmod(store.directory, 0o755)
    let path = store.directory
    #expect(mount(path, path, nil, UInt(MS_BIND), nil) == 0)
    defer { umount2(path, 2) }
    #expect(mount(nil, path, nil, UInt(MS_BIND | MS_REMOUNT | MS_RDONLY), nil) == 0)
    let log = AgentLog(path: directory.path + "/log", limit: 1 << 20).logger("test")
    let accounts = AccountsOnDisk(directory: path, log: log)
    #expect(await accounts.news().map(\.account) == ["a@example.org"])
    #expect(accounts.failure == nil)
    #expect(try store.load().accounts.count == 1)
    #expect {
      try add("b@example.org")
    } throws: { ($0 as? Failure)?.detail?.description.contains("Read-only file system") == true }
  }
}
