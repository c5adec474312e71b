import AgentProtocol
import Testing
import XMPPSASL

@testable import AgentStore

@Suite struct KnownAccountsTests {
  private static let name = "a@example.org"

  private static func account(_ change: (inout Account) -> Void = { _ in }) -> Account {
    var account = Account(account: name, domain: "example.org")
    account.password = Secret("s")
    account.isLogin = true
    change(&account)
    return account
  }

  private static func file(_ accounts: Account?...) -> AccountFile {
    var file = AccountFile()
    for account in accounts { if let account { file[account.account] = account } }
    return file
  }

  private static func consequence(_ before: Account?, _ after: Account?) -> KnownAccounts.Change.Consequence {
    KnownAccounts.Change(account: name, before: before, after: after).consequence
  }

  @Test(
    "A changed accounts file logs in each account that should be online and logs out each one that should not."
  )
  func logInAndOut() {
    let on = Self.account()
    let off = Self.account { $0.isLogin = false }
    #expect(Self.consequence(nil, on) == .logIn)
    #expect(Self.consequence(off, on) == .logIn)
    #expect(Self.consequence(on, off) == .logOut)
    #expect(Self.consequence(on, nil) == .logOut)
    #expect(Self.consequence(off, nil) == .logOut)
    #expect(Self.consequence(nil, off) == .nothing)
    #expect(
      Self.consequence(
        off,
        Self.account {
          $0.isLogin = false
          $0.options.port = 1
        }) == .nothing)
  }

  @Test("A session adopts the changed settings of its account, but ignores the notes of the agent itself.")
  func goBy() {
    let before = Self.account()
    for change: (inout Account) -> Void in [
      { $0.password = Secret("t") }, { $0.options.host = "h" }, { $0.maxRetries = 3 }, { $0.store = .keys },
    ] {
      #expect(Self.consequence(before, Self.account(change)) == .goBy(presence: false))
    }
    for change: (inout Account) -> Void in [
      { $0.presence = DesiredPresence(Availability(show: .away)) }, { $0.noPresence = true },
    ] {
      #expect(Self.consequence(before, Self.account(change)) == .goBy(presence: true))
    }
    let noted = Self.account { $0.lastState = LastState(state: .kicked, time: "t") }
    #expect(Self.consequence(before, noted) == .nothing)
  }

  @Test("Every account is reported as new only once.")
  func first() {
    let known = KnownAccounts()
    let file = Self.file(Self.account())
    #expect(known.news(in: file).map(\.consequence) == [.logIn])
    #expect(known.news(in: file) == [])
  }

  @Test("A change that this process writes is not reported, but a change by another process before it is.")
  func ownWrites() {
    let known = KnownAccounts()
    let old = Self.file(Self.account())
    _ = known.news(in: old)
    let own = Self.file(Self.account { $0.options.port = 1 })
    known.wrote(old, own)
    #expect(known.news(in: own) == [])

    // Between its last look and its own write there was another writer.
    let theirs = Self.file(Self.account { $0.isLogin = false })
    let both = Self.file(
      Self.account {
        $0.isLogin = false
        $0.options.port = 2
      })
    known.wrote(theirs, both)
    #expect(known.news(in: both).map(\.consequence) == [.logOut])
    known.wrote(both, AccountFile())
    #expect(known.news(in: AccountFile()) == [])
  }
}
