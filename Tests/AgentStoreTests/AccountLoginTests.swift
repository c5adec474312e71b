import AgentProtocol
import FoundationEssentials
import Testing
import XMPPSASL

@testable import AgentStore

@Suite struct AccountLoginTests {
  /// Everything that can be stored of a kind.
  private func stored(_ kind: LoginKind = .password, token: Bool = true) -> Account {
    var account = Account(account: "a@example.org", domain: "example.org")
    account.credential.kind = kind
    if kind.usesPassword { account.password = Secret("old") }
    if kind.usesToken { account.credential.token = IssuedToken(token: Secret("given")) }
    if kind.usesToken {
      account.credential.issued = IssuedToken(token: Secret("issued"), expires: "2030-01-01T00:00:00Z")
    }
    account.token = token ? DeviceToken(mechanism: "HT-SHA-256-NONE", secret: Secret("token")) : nil
    account.isLogin = true
    return account
  }

  @Test(
    "A failed login clears what the failure table says, and only if it used a stored secret.",
    arguments: FailureTable.rows.map(\.name), [LoginKind.password, .jwt])
  func cleared(name: Failure.Name, kind: LoginKind) throws {
    let failure = Failure(name, stage: .authenticate)
    let before = stored(kind)
    var account = before
    account.failed(failure, with: .stored)
    let clears = try #require(FailureTable[name]).clears
    let (after, was) = (account.credential, before.credential)
    switch clears {
    case .nothing: #expect(account == before)
    case .isLogin:
      #expect(after == was && account.token == before.token && !account.isLogin)
    case .token where kind == .password:
      #expect(after == was && account.token == nil && account.isLogin)
    case .token:
      #expect(after.token == nil && after.issued == nil && account.token == before.token && account.isLogin)
    case .secret:
      #expect(after.password == nil && after.token == nil && after.issued == nil && account.token == nil)
      #expect(!account.isLogin && !account.hasCredential)
    }
    #expect(account.account == "a@example.org" && account.domain == "example.org" && after.kind == kind)

    var mistyped = before
    mistyped.failed(failure, with: .given)
    #expect(mistyped == before)

    var device = before
    device.failed(failure, with: .deviceToken)
    if clears == .token { #expect(device.token == nil && device.credential == was && device.isLogin) }
  }

  @Test("A refused device token leaves the password, but an automatic login then needs to be forced.")
  func deviceChanged() throws {
    var account = stored()
    let failure = Failure(.deviceChanged, stage: .authenticate, condition: "not-authorized")
    account.failed(failure, with: .deviceToken)
    account.lastState = LastState(state: .loginFailed, cause: failure, time: "2026-11-21T02:42:13.123Z")
    #expect(account.token == nil && account.password == Secret("old") && account.isLogin)
    #expect(throws: failure) { try account.allowAuto(forced: false) }
    try account.allowAuto(forced: true)
    account.password = nil
    for forced in [false, true] { #expect(throws: failure) { try account.allowAuto(forced: forced) } }
  }

  @Test("Only an account that was logged in before is logged in automatically.")
  func automatic() throws {
    func refusal(_ account: Account?, forced: Bool = false, hasOthers: Bool = false) -> Failure.Name? {
      do throws(Failure) {
        var file = AccountFile()
        if hasOthers { file["b@example.org"] = Account(account: "b@example.org", domain: "example.org") }
        file["a@example.org"] = account
        try file.allowAuto("a@example.org", forced: forced)
        return nil
      } catch { return error.name }
    }
    for forced in [false, true] {
      #expect(refusal(nil, forced: forced) == .notInitialized)
      #expect(refusal(nil, forced: forced, hasOthers: true) == .firstLoginNeedsNetwork)
    }
    #expect(refusal(stored()) == nil)
    var kicked = stored()
    kicked.failed(Failure(.kicked, stage: .request), with: .stored)
    #expect(refusal(kicked) == .notLoggedIn)
    #expect(refusal(kicked, forced: true) == nil)
    var refused = stored()
    refused.failed(Failure(.authFailed, stage: .authenticate), with: .stored)
    #expect(refusal(refused) == .notLoggedIn)
    #expect(refusal(refused, forced: true) == .notLoggedIn)
    var out = stored(.jwt)
    out.loggedOut(LogoutMethod.Parameters(account: nil))
    #expect(refusal(out) == .notLoggedIn)
    #expect(refusal(out, forced: true) == nil)
  }

  @Test("An automatic login whose only token has expired reports that until the user logs in by hand.")
  func expired() {
    var account = stored(token: true)
    account.password = nil
    let failure = Failure(.sessionExpired, stage: .authenticate)
    account.failed(failure, with: .deviceToken)
    account.lastState = LastState(state: .loginFailed, cause: failure, time: "2026-11-21T02:42:13.123Z")
    #expect(account.token == nil && !account.isLogin)
    for forced in [false, true] {
      #expect(throws: failure) { try account.allowAuto(forced: forced) }
    }
  }

  @Test(
    "A failure of the network, the store or TLS never logs an account out.",
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

  @Test("An account that has lost its only credential is not logged in automatically any more.")
  func lastCredential() {
    var account = stored()
    account.password = nil
    account.failed(Failure(.tokenExpired, stage: .authenticate), with: .stored)
    #expect(account.token == nil && !account.isLogin)
  }

  @Test("A refused password from a command leaves the command, but is not used automatically again.")
  func command() {
    var account = stored(token: false)
    account.password = nil
    account.passwordCommand = "pass show xmpp"
    account.store = .command
    account.failed(Failure(.authFailed, stage: .authenticate), with: .stored)
    #expect(account.passwordCommand == "pass show xmpp" && !account.isLogin)
  }

  @Test("A login stores the secrets that its policy names, and no others.")
  func policies() {
    var account = Account(account: "a@example.org", domain: "example.org")
    account.loggedIn(LoginCredential(password: Secret("p")))
    #expect(account.password == Secret("p") && account.store == .password && account.isLogin)

    account.loggedIn(LoginCredential(password: Secret("q"), command: "pass show xmpp"))
    #expect(account.password == nil && account.passwordCommand == "pass show xmpp")
    #expect(account.store == .command)

    account.loggedIn(LoginCredential(password: Secret("r")))
    #expect(account.password == Secret("r") && account.store == .password)

    account.loggedIn(LoginCredential(password: Secret("s"), command: "x"), policy: .password)
    #expect(account.password == Secret("s") && account.passwordCommand == nil)

    account.loggedIn(LoginCredential(password: Secret("t")), policy: StorePolicy.none)
    #expect(!account.hasCredential && account.isLogin && account.store == .none)
  }

  @Test(
    "A device token and SCRAM keys from the server are stored with the password or alone, as the policy says.",
    arguments: StorePolicy.allCases)
  func given(policy: StorePolicy) throws {
    let token = DeviceToken(mechanism: "HT-SHA-256-NONE", secret: Secret("token"))
    let keys = try JSONDecoder().decode([SCRAMKeys].self, from: Data(Self.keys.utf8))
    var credential = LoginCredential()
    credential.kind = .jwt
    credential.token = IssuedToken(token: Secret("given"))
    credential.tokenCommand = "issue"
    credential.issued = IssuedToken(token: Secret("issued"), expires: "2030-01-01T00:00:00Z")
    credential.loginExt = "ext"
    var account = Account(account: "a@example.org", domain: "example.org")
    account.loggedIn(credential, policy: policy, token: token, scramKeys: keys)
    #expect((account.token != nil) == (policy == .password || policy == .token))
    #expect(!account.scramKeys.isEmpty == (policy == .password || policy == .keys))
    let kept = account.credential
    #expect((kept.token != nil) == (policy == .password) && (kept.issued != nil) == (policy == .password))
    #expect((kept.tokenCommand != nil) == (policy == .password || policy == .command))
    #expect((kept.loginExt != nil) == (policy != .none) && kept.kind == .jwt)
    #expect(account.shortfall == nil)
    account.loggedIn(credential, policy: policy)
    #expect(account.shortfall == (policy == .token || policy == .keys ? StorePolicy.none : nil))

    let data = try JSONEncoder().encode(account)
    #expect(try JSONDecoder().decode(Account.self, from: data) == account)
  }

  private static let keys = """
    [{"hash":"SHA-1","salt":"QSXCR+Q6sek8bf92","iterations":4096,"clientKey":"AAAAAAAAAAAAAAAAAAAAAAAAAAA=",\
    "serverKey":"AAAAAAAAAAAAAAAAAAAAAAAAAAA="}]
    """

  @Test("An account of an earlier version is read, and a device token in its old form is left out.")
  func earlier() throws {
    let json = #"{"account":"a@example.org","password":"p","isLogin":true,"store":"password","token":"x"}"#
    let account = try JSONDecoder().decode(Account.self, from: Data(json.utf8))
    #expect(
      account.password == Secret("p") && account.token == nil && account.credential.kind == .password)
  }

  @Test("A logout keeps the secret that is stored on purpose, and no token besides.")
  func logout() {
    var account = stored()
    account.loggedOut(LogoutMethod.Parameters(account: nil))
    #expect(!account.isLogin && account.password == Secret("old") && account.token == nil)
    #expect(account.keptSecret == .password && account.lastState == nil)

    var given = stored(.jwt)
    given.loggedOut(LogoutMethod.Parameters(account: nil))
    #expect(given.credential.token?.token == Secret("given") && given.credential.issued == nil)
    #expect(given.token == nil && given.keptSecret == .password)

    var device = stored()
    device.password = nil
    device.store = .token
    device.loggedOut(LogoutMethod.Parameters(account: nil))
    #expect(device.token != nil && device.keptSecret == .token)
  }

  @Test(
    "A logout with forget keeps account and domain but no secret, except for a token that has yet to be revoked."
  )
  func forgottenLogout() {
    var parameters = LogoutMethod.Parameters(account: nil)
    parameters.forget = true
    var account = stored()
    account.loggedOut(parameters)
    #expect(!account.isLogin && !account.hasCredential && account.keptSecret == nil)
    #expect(account.account == "a@example.org" && account.domain == "example.org")
    parameters.revoke = true
    account = stored()
    account.loggedOut(parameters)
    #expect(account.password == nil && account.token != nil)
  }
}
