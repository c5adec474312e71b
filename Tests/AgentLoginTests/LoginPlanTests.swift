import AgentProtocol
import FoundationEssentials
import NIOCore
import Testing
import XMPP
import XMPPSASL
import XMPPStanza
import XMPPTransport
import XMPPXML

@testable import AgentLogin
@testable import AgentStore

@Suite struct LoginPlanTests {
  private func plan(_ kind: LoginKind, _ change: (inout LoginCredential) -> Void = { _ in }) throws
    -> LoginPlan
  {
    var credential = LoginCredential()
    credential.kind = kind
    if kind.usesPassword { credential.password = Secret("password") }
    if kind.usesToken { credential.token = IssuedToken(token: Secret("token")) }
    if kind == .external { (credential.certFile, credential.keyFile) = ("/cert", "/key") }
    change(&credential)
    return try LoginPlan(
      account: JID(kind == .anonymous ? "example.org" : "a@example.org"), credential: credential,
      isGiven: true, store: nil, options: ConnectionOptions())
  }

  private func text(_ secret: Secret?) -> String? { secret?.revealed() }

  @Test("Each kind of login gives its mechanisms the credentials that they need, and allows no others.")
  func kinds() throws {
    let token = IssuedToken(token: Secret("token"))
    for kind in LoginKind.allCases {
      let plan = try plan(kind)
      let presented = ResolvedCredentials(
        password: kind.usesPassword ? Secret("password") : nil, token: kind.usesToken ? token : nil,
        loginExtension: "ext")
      let credentials = plan.credentials(presenting: presented)
      #expect(credentials.isAnonymous == (kind == .anonymous))
      #expect(credentials.hasCertificate == (kind == .external))
      #expect(credentials.authcid == (kind == .anonymous ? "" : "a") && credentials.authzid == nil)
      #expect(credentials.loginExtension == "ext")
      let password: [LoginKind: String] = [
        .password: "password", .email: "password", .function: "password", .token: "token", .jwt: "token",
        .thirdParty: "token",
      ]
      #expect(text(credentials.password) == password[kind], "\(kind)")
      #expect(text(credentials.bearerToken) == (kind == .apiKey ? "token" : nil), "\(kind)")
      let allowed: [LoginKind: Set<SASLMechanismName>] = [
        .anonymous: [.anonymous], .external: [.external], .function: [.plain], .token: [.plain],
        .jwt: [.plain], .thirdParty: [.plain], .apiKey: [.oauthBearer, .xOAuth2],
      ]
      #expect(plan.policy.allowed == allowed[kind], "\(kind)")
    }
  }

  @Test("A token is sent by OAUTHBEARER if the server offers no other mechanism for tokens.")
  func bearer() throws {
    for kind in [LoginKind.token, .jwt, .thirdParty] {
      var plan = try plan(kind)
      #expect(!plan.wantsBearer(offered: [.plain, .xOAuth2]) && !plan.wantsBearer(offered: [.scramSHA1]))
      #expect(plan.wantsBearer(offered: [.scramSHA1, .plain, .oauthBearer]))
      #expect(!plan.wantsBearer(offered: [.scramSHA1, .plain]))
      let failure = Failure(.mechanismUnavailable, stage: .authenticate)
      #expect(reconsider(&plan, after: failure, of: nil, offered: [.oauthBearer, .scramSHA1]))
      let credentials = plan.credentials(presenting: ResolvedCredentials(token: plan.credential.token))
      #expect(text(credentials.bearerToken) == "token" && credentials.password == nil)
      #expect(plan.policy.allowed == [.oauthBearer, .xOAuth2])
      #expect(!reconsider(&plan, after: failure, of: nil, offered: [.oauthBearer]))
    }
    #expect(!(try plan(.password)).wantsBearer(offered: [.oauthBearer]))
  }

  @Test("The reason says that no mechanism can carry the token or the document, if that is the cause.")
  func noWay() throws {
    let failure = Failure(.mechanismUnavailable, stage: .authenticate, detail: .text("no password"))
    func detail(_ kind: LoginKind, _ offered: [SASLMechanismName]) throws -> String? {
      try plan(kind).interpret(failure, of: nil, offered: offered, presented: nil, at: 0).detail?.description
    }
    for kind in [LoginKind.token, .jwt, .thirdParty, .function] {
      let what = kind == .function ? "document" : "token"
      let both = try detail(kind, [.scramSHA1, .plain])
      #expect(
        both
          == "no usable mechanism for the \(what): the server offers SCRAM-SHA-1, PLAIN; PLAIN is not used if the server offers SCRAM"
      )
      let one = try detail(kind, [.scramSHA1])
      #expect(one == "no usable mechanism for the \(what): the server offers SCRAM-SHA-1")
      #expect(try detail(kind, [.plain]) == "no password")
    }
    #expect(try detail(.password, [.scramSHA1]) == "no password")
  }

  @Test("The token and the login extension are sent as one JSON object if the login asks for it.")
  func packed() throws {
    let plan = try plan(.thirdParty) { $0.extInPassword = true }
    let both = ResolvedCredentials(token: plan.credential.token, loginExtension: "é\"")
    #expect(text(plan.credentials(presenting: both).password) == #"{"ext":"é\"","token":"token"}"#)
    let extensionAlone = ResolvedCredentials(loginExtension: "ext")
    #expect(text(plan.credentials(presenting: extensionAlone).password) == #"{"ext":"ext"}"#)
  }

  @Test("A login extension that no mechanism has sent is detected.")
  func leftOut() throws {
    func leavesOut(
      _ plan: LoginPlan, _ mechanism: SASLMechanismName, ext: String? = "ext", token: Bool = true,
      usesSASL2: Bool = false
    ) throws -> Bool {
      var bound = BoundStream(
        jid: try JID("a@example.org/r"), target: ServerTarget(host: "h", port: 5222, tls: .startTLS),
        mechanism: mechanism, features: StreamFeatures(XMLElement("features", namespace: "n")))
      bound.usesSASL2 = usesSASL2
      let token = token ? IssuedToken(token: Secret("t")) : nil
      return plan.leavesOutExtension(of: ResolvedCredentials(token: token, loginExtension: ext), in: bound)
    }
    let third = try plan(.thirdParty)
    #expect(try leavesOut(third, .plain) && leavesOut(third, .xOAuth2, token: false))
    #expect(try !leavesOut(third, .plain, ext: nil) && !leavesOut(third, .plain, ext: ""))
    #expect(try !leavesOut(third, .plain, token: false) && !leavesOut(third, .oauthBearer))
    #expect(try !leavesOut(third, .plain, usesSASL2: true))
    #expect(try !leavesOut(try plan(.thirdParty) { $0.extInPassword = true }, .plain))
    #expect(try leavesOut(try plan(.password), .scramSHA1) && leavesOut(try plan(.token), .plain))
  }

  @Test("A refused third-party or function login is not reported as a wrong password.")
  func refusedDetail() throws {
    for (kind, detail) in [
      (LoginKind.thirdParty, "the token or the login extension was refused"),
      (.function, "the document was refused"),
    ] {
      let meant = try plan(kind).interpret(refusal, of: .plain, presented: nil, at: 0)
      #expect(meant.name == .authFailed && meant.code == 302 && meant.exit == 77)
      #expect(
        meant.detail?.description == detail && meant.text == "no" && meant.condition == "not-authorized")
    }
  }

  @Test("A login under another user name requests the account as its authorization identity.")
  func authcid() throws {
    let other = try plan(.password) { $0.authcid = "staff-17" }
    let credentials = other.credentials(presenting: ResolvedCredentials(password: Secret("p")))
    #expect(credentials.authcid == "staff-17" && credentials.authzid == "a@example.org")
    let same = try plan(.password) { $0.authcid = "a" }
    #expect(same.credentials(presenting: ResolvedCredentials()).authzid == nil)
  }

  @Test(
    "A login is refused if its kind does not fit the JID, or if it has no SCRAM keys to store as requested."
  )
  func refused() throws {
    for (jid, kind, store) in [
      ("example.org", LoginKind.password, nil), ("a@example.org", .anonymous, nil),
      ("a@example.org", .jwt, .keys), ("a@example.org", .external, .keys),
    ] as [(String, LoginKind, StorePolicy?)] {
      var credential = LoginCredential()
      credential.kind = kind
      do throws(Failure) {
        let jid = try! JID(jid)
        _ = try LoginPlan(
          account: jid, credential: credential, isGiven: true, store: store, options: ConnectionOptions())
        Issue.record("accepted \(jid) \(kind)")
      } catch {
        #expect(error.name == .invalidParameter)
      }
    }
  }

  @Test("A new secret is used without the stored device token, which serves only if no secret is given.")
  func taken() throws {
    var stored = Account(account: "a@example.org", domain: "example.org")
    stored.token = DeviceToken(
      mechanism: "HT-SHA-256-NONE", secret: Secret("device"), expiry: "2030-01-01T00:00:00Z")
    stored.deviceId = "id"
    var plan = try plan(.password)
    plan.apply(stored, at: 0)
    #expect(plan.deviceToken == nil && plan.deviceId == "id")
    plan.isGiven = false
    plan.apply(stored, at: 0)
    #expect(plan.deviceToken == stored.token)
    #expect(plan.credentials(presenting: ResolvedCredentials()).fastToken?.mechanism == .htSHA256None)
    #expect(plan.userAgent?.id == "id" && plan.userAgent?.software == "imctl")
    plan.apply(stored, at: 2e9)
    #expect(plan.deviceToken == nil && plan.sessionExpiry == nil)
    plan.credential.password = nil
    let expiry = try #require(plan.sessionExpiry)
    #expect(expiry.name == .sessionExpired && expiry.exit == 79)
    #expect(expiry.detail?.description == "it expired at 2030-01-01T00:00:00Z")
    plan.apply(stored, at: 0)
    #expect(plan.sessionExpiry == nil)
    #expect(try self.plan(.anonymous).userAgent == nil)
  }

  // MARK: After a refusal

  private let refusal = Failure(.authFailed, stage: .authenticate, condition: "not-authorized", text: "no")

  private func reconsider(
    _ plan: inout LoginPlan, after failure: Failure, of mechanism: SASLMechanismName?,
    offered: [SASLMechanismName], presented: ResolvedCredentials? = nil
  ) -> Bool {
    plan.reconsider(after: failure, of: mechanism, offered: offered, presented: presented)
  }

  @Test("The meaning of a refusal depends on the kind of login.")
  func meaning() throws {
    func name(
      _ kind: LoginKind, _ failure: Failure.Name, _ mechanism: SASLMechanismName, token: String = "opaque"
    ) throws -> Failure.Name {
      let presented = ResolvedCredentials(token: IssuedToken(token: Secret(token)))
      return try plan(kind).interpret(
        Failure(failure, stage: .authenticate), of: mechanism, presented: presented, at: 1000
      ).name
    }
    #expect(try name(.password, .authFailed, .plain) == .authFailed)
    #expect(try name(.function, .authFailed, .plain) == .authFailed)
    #expect(try name(.external, .authFailed, .external) == .authFailed)
    #expect(try name(.thirdParty, .authFailed, .plain) == .authFailed)
    #expect(try name(.thirdParty, .tokenIncorrect, .oauthBearer) == .authFailed)
    for kind in [LoginKind.token, .jwt, .apiKey] {
      #expect(try name(kind, .authFailed, .plain) == .tokenIncorrect)
      #expect(try name(kind, .networkError, .plain) == .networkError)
      // Its claims are {"exp":1000}.
      let over = "eyJhbGciOiJIUzI1NiJ9.eyJleHAiOjEwMDB9.c2lnbmF0dXJl"
      #expect(try name(kind, .authFailed, .plain, token: over) == .tokenExpired)
      #expect(try name(kind, .tokenIncorrect, .oauthBearer, token: over) == .tokenExpired)
    }
    #expect(try name(.password, .authFailed, .htSHA256None) == .tokenExpired)
    #expect(try name(.jwt, .authFailed, .htSHA256None) == .tokenExpired)
    #expect(try name(.password, .tokenExpired, .htSHA256None) == .tokenExpired)
    var alone = try plan(.password)
    alone.credential.password = nil
    // The server may have lost it: nobody says that it was used on another device.
    for over in [Failure(.tokenExpired, stage: .authenticate, condition: "credentials-expired"), refusal] {
      let meant = alone.interpret(over, of: .htSHA256None, presented: nil, at: 0)
      #expect(meant.name == .sessionExpired && meant.condition == over.condition && meant.exit == 79)
    }
  }

  @Test("A token that the server accepted before and refuses now has expired or was revoked.")
  func revoked() throws {
    for kind in [LoginKind.token, .jwt, .apiKey] {
      for failure in [Failure.Name.authFailed, .tokenIncorrect] {
        var plan = try plan(kind)
        func name() -> Failure.Name {
          let presented = ResolvedCredentials(token: plan.credential.token)
          let failure = Failure(failure, stage: .authenticate)
          return plan.interpret(failure, of: .plain, presented: presented, at: 0).name
        }
        #expect(name() == .tokenIncorrect)
        plan.isGiven = false
        #expect(name() == .tokenExpired)
      }
    }
  }

  @Test("A refused token from a command is replaced by a fresh one, but only once.")
  func fresh() throws {
    var plan = try plan(.jwt) {
      $0.tokenCommand = "issue"
      $0.issued = IssuedToken(token: Secret("x"), expires: "2030-01-01T00:00:00Z")
    }
    for name in [Failure.Name.authFailed, .networkError, .loginForbidden] {
      #expect(!reconsider(&plan, after: Failure(name, stage: .authenticate), of: .plain, offered: [.plain]))
    }
    let incorrect = Failure(.tokenIncorrect, stage: .authenticate)
    #expect(reconsider(&plan, after: incorrect, of: .plain, offered: [.plain]))
    #expect(plan.credential.issued == nil)
    #expect(!reconsider(&plan, after: incorrect, of: .plain, offered: [.plain]))
    var given = try self.plan(.jwt)
    #expect(!reconsider(&given, after: incorrect, of: .plain, offered: [.plain]))
  }

  @Test("A token that was refused is remembered when its command runs again.")
  func refusedToken() throws {
    var plan = try plan(.token) { $0.tokenCommand = "issue" }
    let incorrect = Failure(.tokenIncorrect, stage: .authenticate)
    let presented = ResolvedCredentials(token: plan.credential.token, isFallback: true)
    #expect(reconsider(&plan, after: incorrect, of: .plain, offered: [.plain], presented: presented))
    #expect(plan.refused?.token == Secret("token") && plan.refused?.failure == incorrect)
  }

  @Test(
    "The stored choice of what to keep remains, unless a command is given for a password or no longer exists.",
    arguments: StorePolicy.allCases)
  func usualPolicy(stored: StorePolicy) {
    func usual(_ kind: LoginKind, command: Bool = false, isGiven: Bool = true) -> StorePolicy? {
      var credential = LoginCredential()
      credential.kind = kind
      if command, kind.usesToken { credential.tokenCommand = "issue" }
      if command, !kind.usesToken { credential.passwordCommand = "pass" }
      return LoginPlan.usualPolicy(stored, for: credential, isGiven: isGiven)
    }
    #expect(usual(.password) == (stored == .command ? .password : stored))
    #expect(usual(.password, command: true) == (stored == .password ? .command : stored))
    #expect(usual(.jwt) == (stored == .command || stored == .keys ? .password : stored))
    #expect(usual(.jwt, command: true) == (stored == .keys ? .password : stored))
    #expect(usual(.password, isGiven: false) == stored)
  }

  @Test("A first login stores its secret, or the command that prints it.")
  func firstPolicy() {
    func usual(_ credential: LoginCredential, isGiven: Bool = true) -> StorePolicy? {
      LoginPlan.usualPolicy(nil, for: credential, isGiven: isGiven)
    }
    #expect(usual(LoginCredential(password: Secret("p"))) == .password)
    #expect(usual(LoginCredential(password: Secret("p"), command: "pass")) == .command)
    #expect(usual(LoginCredential(), isGiven: false) == nil)
  }

  @Test("A refused device token is replaced by the password, whether or not the last login is checked.")
  func device() throws {
    let device = DeviceToken(mechanism: "HT-SHA-256-NONE", secret: Secret("device"))
    let expired = Failure(.tokenExpired, stage: .authenticate)
    for checks in [true, false] {
      var plan = try plan(.password)
      plan.isGiven = false
      plan.deviceToken = device
      plan.checksLastLogin = checks
      let configuration = plan.configuration(
        presenting: ResolvedCredentials(), timeout: .seconds(1), language: "en")
      #expect(configuration.fallsBackFromToken)
      #expect(reconsider(&plan, after: expired, of: .htSHA256None, offered: []))
      #expect(plan.deviceToken == nil)
      #expect(!reconsider(&plan, after: expired, of: .plain, offered: []))
    }
    // With nothing else there is nothing else to try.
    var alone = try plan(.password) { $0.password = nil }
    alone.deviceToken = device
    #expect(!reconsider(&alone, after: expired, of: .htSHA256None, offered: []))
  }

  @Test("The credential command does not run while a device token may be used to log in.")
  func lazily() throws {
    let device = DeviceToken(mechanism: "HT-SHA-256-NONE", secret: Secret("device"))
    var plan = try plan(.jwt) {
      $0.token = nil
      $0.tokenCommand = "issue"
    }
    #expect(!plan.isDeviceTokenEnough)
    plan.deviceToken = device
    #expect(plan.isDeviceTokenEnough)
    let unwanted = Failure(.mechanismUnavailable, stage: .authenticate)
    #expect(reconsider(&plan, after: unwanted, of: nil, offered: [.plain]))
    #expect(plan.deviceToken == nil && !plan.isDeviceTokenEnough)
    // One given beforehand may have expired.
    var given = try self.plan(.jwt)
    given.deviceToken = device
    #expect(given.isDeviceTokenEnough)
    var password = try self.plan(.password)
    password.deviceToken = device
    #expect(!password.isDeviceTokenEnough)
    password.credential = LoginCredential()
    password.credential.passwordCommand = "pass"
    #expect(password.isDeviceTokenEnough)
  }
}
