import AgentProtocol
import Glibc
import NIOConcurrencyHelpers
import TestSupport
import Testing
import XMPPSASL

@testable import AgentStore
@testable import AgentSystem

@Suite struct AccountStoreTests {
  private let directory: TemporaryDirectory
  private let store: AccountStore

  init() throws {
    directory = try TemporaryDirectory()
    store = AccountStore(directory: directory.path + "/config")
  }

  private func add(_ jid: String, password: String = "secret", to store: AccountStore? = nil) throws {
    try (store ?? self.store).update { file throws(Failure) in
      var account = Account(account: jid, domain: "example.org")
      account.password = Secret(password)
      file[jid] = account
    }
  }

  @Test("A missing accounts file has no accounts, and reading it creates nothing.")
  func empty() throws {
    #expect(try store.load() == AccountFile())
    #expect(mode(store.directory) == 0)
  }

  @Test("The accounts file has mode 0600 in a directory of mode 0700, even with an umask of 0.")
  func modes() throws {
    let before = umask(0)
    defer { umask(before) }
    try add("a@example.org")
    #expect(mode(store.path) == 0o600)
    #expect(mode(store.directory) == 0o700)
    #expect(mode(store.directory + "/accounts.lock") == 0o600)
  }

  @Test("The keys of the accounts file are those in the documentation.")
  func keys() throws {
    try store.update { file throws(Failure) in
      var account = Account(account: "a@example.org", domain: "example.org")
      account.password = Secret("s")
      account.isLogin = true
      account.options.port = 5223
      account.presence = DesiredPresence(Availability(show: .away, status: "lunch", priority: 5))
      account.deviceId = "d"
      account.lastState = LastState(
        state: .kicked, cause: Failure(.kicked, stage: .stream, detail: .session(.by, "phone")), time: "t")
      file["a@example.org"] = account
      file.last = "a@example.org"
    }
    let text = try #require(contents(store.path))
    for fragment in [
      #""version" : 1"#, #""default" : "a@example.org""#, #""last" : "a@example.org""#,
      #""account" : "a@example.org""#, #""password" : "s""#, #""domain" : "example.org""#,
      #""isLogin" : true"#, #""port" : 5223"#, #""status" : "lunch""#, #""store" : "password""#,
    ] {
      #expect(text.contains(fragment), "\(fragment)")
    }
    let cause = try store.load()["a@example.org"]?.lastState?.cause
    #expect(cause?.name == .kicked && cause?.detail == .session(.by, "phone"))
  }

  @Test("Unknown keys in the accounts file are kept when it is written, at every level.")
  func unknownKeys() throws {
    try PrivateDirectory.ensure(store.directory)
    write(
      """
      {"version":1,"future":{"a":[1,2.5,null,true,"x"]},"accounts":[
        {"account":"a@example.org","domain":"example.org","isLogin":true,"colour":"blue","n":9007199254740993}]}
      """, to: store.path)
    try add("b@example.org")
    let text = try #require(contents(store.path))
    for fragment in [#""colour" : "blue""#, "9007199254740993", #""future""#, "2.5", "null"] {
      #expect(text.contains(fragment), "\(fragment)")
    }
  }

  @Test("Two spellings of one JID in the accounts file are one account.")
  func spellings() throws {
    try PrivateDirectory.ensure(store.directory)
    write(
      """
      {"version":1,"default":"ALICE@Example.org","accounts":[
        {"account":"Alice@example.ORG","domain":"example.org","isLogin":true},
        {"account":"alice@example.org","domain":"example.org","isLogin":false}]}
      """, to: store.path)
    let file = try store.load()
    #expect(file.accounts.map(\.account) == ["alice@example.org"])
    #expect(file.default == "alice@example.org")
    #expect(try file.account("aLICE@EXAMPLE.org/phone").isLogin)
  }

  @Test("A printed account does not show its secrets.")
  func secrets() {
    var account = Account(account: "a@example.org", domain: "example.org")
    account.password = Secret("hunter2")
    account.token = DeviceToken(mechanism: "HT-SHA-256-NONE", secret: Secret("hunter2"))
    account.credential.token = IssuedToken(token: Secret("hunter2"))
    var dumped = ""
    dump(account, to: &dumped)
    for text in ["\(account)", String(reflecting: account), dumped] { #expect(!text.contains("hunter2")) }
  }

  @Test("An accounts file that another user may have written is not read.")
  func refused() throws {
    try add("a@example.org")
    let real = store.path + ".real"
    rename(store.path, real)
    symlink(real, store.path)
    expectRefusal("symbolic link")
    unlink(store.path)
    mkdir(store.path, 0o700)
    expectRefusal("not a file")
    rmdir(store.path)
    mkfifo(store.path, 0o600)
    expectRefusal("not a file")
    unlink(store.path)
    rename(real, store.path)
    chmod(store.path, 0o620)
    expectRefusal("other users can write it")
    chmod(store.path, 0o600)
    if geteuid() == 0 {
      chown(store.path, 12345, 12345)
      expectRefusal("another user")
      chown(store.path, 0, 0)
    }
    #expect(try store.load().accounts.count == 1)
  }

  private func expectRefusal(_ why: String, _ place: SourceLocation = #_sourceLocation) {
    for write in [false, true] {
      do {
        if write { try add("b@example.org") } else { _ = try store.load() }
        Issue.record("not refused: \(why)", sourceLocation: place)
      } catch let failure as Failure {
        #expect(failure.name == .databaseError, sourceLocation: place)
        #expect(failure.detail?.description.contains(store.path) == true, sourceLocation: place)
        #expect(failure.detail?.description.contains(why) == true, "\(failure)", sourceLocation: place)
      } catch {
        Issue.record(error, sourceLocation: place)
      }
    }
  }

  @Test("An accounts file and directory that others could read are repaired, and the user is told.")
  func repaired() throws {
    try add("a@example.org")
    chmod(store.path, 0o644)
    chmod(store.directory, 0o755)
    let repairs = NIOLockedValueBox<[AccountStore.Repair]>([])
    let store = AccountStore(directory: store.directory) { repair in
      repairs.withLockedValue { $0.append(repair) }
    }
    #expect(try store.load().accounts.count == 1)
    #expect(repairs.withLockedValue { $0 } == [.modeOfDirectory(store.directory), .modeOfFile(store.path)])
    #expect(mode(store.path) == 0o600 && mode(store.directory) == 0o700)
    for language in Language.allCases {
      #expect(repairs.withLockedValue { $0[1].localized(language) }.contains(store.path))
    }
  }

  @Test(
    "An accounts file that cannot be understood is refused and never overwritten.",
    arguments: [
      "", "{", "[]", "null", "{}", #"{"version":2,"accounts":[]}"#, #"{"version":1,"accounts":[{}]}"#,
      #"{"version":1,"accounts":[{"account":"@","password":"hunter2"}]}"#,
      #"{"version":1,"accounts":[{"account":"a@b","isLogin":"hunter2"}]}"#,
    ])
  func corrupt(text: String) throws {
    try PrivateDirectory.ensure(store.directory)
    write(text, to: store.path)
    for write in [false, true] {
      do {
        if write { try add("b@example.org") } else { _ = try store.load() }
        Issue.record("accepted")
      } catch let failure as Failure {
        #expect(failure.name == .databaseError && failure.exit == 73)
        #expect(failure.message.contains(store.path))
        #expect(!failure.message.contains("hunter2"))
      }
    }
    #expect(contents(store.path) == text)
  }

  @Test("A write that stops at any step leaves the old accounts file or the new one.")
  func killed() throws {
    try add("old@example.org")
    for (number, step) in AccountStore.Step.allCases.enumerated() {
      var failing = store
      failing.before = { reached throws(Errno) in if reached == step { throw Errno(ENOSPC) } }
      let before = try store.load()
      #expect(throws: Failure.self) { try add("new\(number)@example.org", to: failing) }
      let after = try store.load()
      // Only the last step comes after the rename.
      #expect((after == before) == (step != .synchroniseDirectory), "\(step)")
      #expect(mode(store.path) == 0o600)
      try add("next\(number)@example.org")
      #expect(try store.load()["next\(number)@example.org"] != nil)
    }
  }

  @Test("A full disk leaves the old accounts file unchanged and is reported.")
  func fullDisk() throws {
    try add("old@example.org")
    var failing = store
    failing.before = { step throws(Errno) in if step == .write { throw Errno(ENOSPC) } }
    do {
      try add("new@example.org", to: failing)
      Issue.record("written")
    } catch let failure as Failure {
      #expect(failure.name == .databaseError)
      #expect(failure.message.contains("No space left on device") && failure.message.contains(store.path))
    }
    #expect(try store.load().accounts.map(\.account) == ["old@example.org"])
  }

  @Test("A symbolic link in place of the temporary file is not written through.")
  func plantedTemporaryFile() throws {
    try add("a@example.org")
    let victim = directory.path + "/victim"
    write("precious", to: victim)
    symlink(victim, store.path + ".new")
    try add("b@example.org")
    #expect(contents(victim) == "precious")
    #expect(try store.load().accounts.count == 2)
  }

  @Test("An update that changes nothing writes nothing.")
  func unchanged() throws {
    try add("a@example.org")
    var failing = store
    failing.before = { _ throws(Errno) in throw Errno(EIO) }
    try failing.update { _ throws(Failure) in }
  }

  @Test("An update that throws an error changes nothing.")
  func thrown() throws {
    try add("a@example.org")
    #expect(throws: Failure(.cancelled, stage: .store)) {
      try store.update { file throws(Failure) in
        file["a@example.org"] = nil
        throw Failure(.cancelled, stage: .store)
      }
    }
    #expect(try store.load().accounts.count == 1)
  }

  @Test("Concurrent writers all succeed, and readers never see a partial file.")
  func concurrent() async throws {
    let store = store
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<8 {
        group.addTask {
          for number in 0..<10 {
            let jid = "w\(writer)n\(number)@example.org"
            try await store.inBackground { store throws(Failure) in
              try store.update { file throws(Failure) in
                file[jid] = Account(account: jid, domain: "example.org")
              }
              _ = try store.load()
            }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try store.load().accounts.count == 80)
  }

  @Test("The first account is the default, and after its removal the only other one, or none.")
  func defaults() throws {
    for name in ["a", "b", "c"] { try add("\(name)@example.org") }
    var file = try store.load()
    #expect(file.default == "a@example.org")
    #expect(try file.account(nil).account == "a@example.org")
    try file.use("B@example.org")
    #expect(file.default == "b@example.org")
    file["b@example.org"] = nil
    #expect(file.default == nil)
    #expect(throws: Failure(.notLoggedIn, stage: .store)) { try file.account(nil) }
    try file.use("c@example.org")
    file["c@example.org"] = nil
    #expect(file.default == "a@example.org")
    #expect(throws: Failure(.notLoggedIn, stage: .store, detail: .text("x@example.org"))) {
      try file.use("x@example.org")
    }
    #expect(throws: Failure(.notInitialized, stage: .store)) { try AccountFile().account(nil) }
    #expect(throws: Failure.self) { try file.account("a@@b") }
  }
}
