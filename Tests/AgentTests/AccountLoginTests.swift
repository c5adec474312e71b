import AgentProtocol
import Testing

@testable import Agent

@Suite struct AccountLoginTests {
  private func stored(token: Bool = true) -> Account {
    var account = Account(account: "a@example.org", domain: "example.org")
    account.password = Secret("old")
    account.token = token ? Secret("token") : nil
    account.isLogin = true
    return account
  }

  @Test(
    "A failure clears what the table says, and only of what was stored.",
    arguments: FailureTable.rows.map(\.name))
  func cleared(name: Failure.Name) throws {
    let failure = Failure(name, stage: .authenticate)
    var account = stored()
    account.failed(failure, with: .stored)
    switch try #require(FailureTable[name]).clears {
    case .nothing: #expect(account == stored())
    case .isLogin: #expect(account.password != nil && account.token != nil && !account.isLogin)
    case .token: #expect(account.password != nil && account.token == nil && account.isLogin)
    case .secret: #expect(account.password == nil && account.token == nil && !account.isLogin)
    }
    #expect(account.account == "a@example.org" && account.domain == "example.org")

    var mistyped = stored()
    mistyped.failed(failure, with: .given)
    #expect(mistyped == stored())
  }

  @Test(
    "No trouble with the network, the store or TLS logs anyone out.",
    arguments: [
      Failure.Name.networkError, .connectTimeout, .connectionRefused, .unknownDomain, .tlsFailure,
      .protocolError,
      .downgrade, .databaseError, .proxyUnavailable, .rateLimited, .cancelled, .credentialSourceFailed,
    ])
  func kept(name: Failure.Name) {
    var account = stored()
    account.failed(Failure(name, stage: .connect), with: .stored)
    #expect(account == stored())
  }

  @Test("With its only credential gone an account is not logged in by itself any more.")
  func lastCredential() {
    var account = stored()
    account.password = nil
    account.failed(Failure(.tokenExpired, stage: .authenticate), with: .stored)
    #expect(account.token == nil && !account.isLogin)
  }

  @Test("A refused password from a command leaves the command, but is not tried again by itself.")
  func command() {
    var account = stored(token: false)
    account.password = nil
    account.passwordCommand = "pass show xmpp"
    account.store = .command
    account.failed(Failure(.authFailed, stage: .authenticate), with: .stored)
    #expect(account.passwordCommand == "pass show xmpp" && !account.isLogin)
  }

  @Test("A login keeps what the policy says and nothing else.")
  func policies() {
    var account = Account(account: "a@example.org", domain: "example.org")
    account.loggedIn(password: Secret("p"), command: nil)
    #expect(account.password == Secret("p") && account.store == .password && account.isLogin)

    account.loggedIn(password: Secret("q"), command: "pass show xmpp")
    #expect(account.password == nil && account.passwordCommand == "pass show xmpp")
    #expect(account.store == .command)

    // The agent logs in again with what the command printed.
    account.loggedIn(password: Secret("r"))
    #expect(account.password == nil && account.passwordCommand == "pass show xmpp")

    account.loggedIn(password: Secret("s"), policy: .password)
    #expect(account.password == Secret("s") && account.passwordCommand == nil)

    account.loggedIn(password: Secret("t"), policy: StorePolicy.none)
    #expect(!account.hasCredential && account.isLogin && account.store == .none)
  }

  @Test("A login with the stored password keeps it.")
  func storedPassword() {
    var account = stored()
    account.loggedIn(password: nil)
    #expect(account.password == Secret("old") && account.isLogin)
  }

  @Test("Logout keeps account and domain, and no secret.")
  func logout() {
    var account = stored()
    account.loggedOut()
    #expect(!account.isLogin && !account.hasCredential)
    #expect(account.account == "a@example.org" && account.domain == "example.org")
  }
}
