import AgentProtocol
import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// Logs in to a server of its own, as a user does.
private struct Visitor {
  let server: TestServer
  let imctl: IMCTL

  init(_ kind: TestServer.Kind, _ change: (inout TestServer.Options) -> Void = { _ in }) async throws {
    var options = TestServer.Options(kind)
    change(&options)
    server = try await TestServer(options)
    imctl = try await IMCTL()
  }

  var connection: [String] {
    ["--host", TestServer.host, "--port", String(server.port), "--ca-file", server.caFile]
  }

  func login(_ arguments: String..., input: String = "") async throws -> IMCTL.Result {
    try await imctl.run(["login", "--json"] + arguments + connection, input: input)
  }

  /// The mechanism that the session was logged in with.
  func mechanism() async throws -> String? {
    try await imctl.run("status", "--json").objects(SessionStatus.self).first?.server?.mechanism
  }

  var accounts: String {
    (try? String(contentsOf: URL(filePath: imctl.home + "/.config/imctl/accounts.json"), encoding: .utf8))
      ?? ""
  }

  /// Has the stored token be one that the server does not know.
  func spoilToken() throws {
    let spoilt = accounts.replacing(/"secret" : "[^"]*"/) { _ in #""secret" : "lost""# }
    guard spoilt != accounts else { throw TestSupportError("no token in \(accounts)") }
    try Data(spoilt.utf8).write(to: URL(filePath: imctl.home + "/.config/imctl/accounts.json"))
  }

  func end() async throws {
    try await imctl.end()
    try await server.end()
  }
}

@Suite("Logins without a password or with other credentials", .serialized)
struct LoginKindTests {
  private static let anonymousDomain = "anon.example"

  @Test(
    "An anonymous login gets its JID from the server, and stores nothing.",
    arguments: TestServer.Kind.allCases)
  func anonymous(kind: TestServer.Kind) async throws {
    let visitor = try await Visitor(kind) { $0.anonymousDomain = Self.anonymousDomain }
    let result = try await visitor.login(Self.anonymousDomain, "--auth", "anonymous")
    #expect(result.status == 0, "\(result.errors)")
    let status = try #require(
      try await visitor.imctl.run("status", "--json").objects(SessionStatus.self).first)
    let fullJID = try #require(status.fullJID)
    #expect(fullJID.contains("@\(Self.anonymousDomain)/") && status.server?.mechanism == "ANONYMOUS")
    #expect(visitor.accounts == "")
    let userId = try result.objects(Event.self).compactMap { event in
      if case .success(let success) = event.body { success.userId } else { nil }
    }
    #expect(userId == [String(fullJID.prefix { $0 != "/" })])
    #expect(try await visitor.imctl.run("presence", "away", "--json").output.contains(#""applied":true"#))
    let bare = fullJID.prefix { $0 != "/" }
    #expect(try await visitor.imctl.run("whoami").output == bare + "\n")
    let elsewhere = try await visitor.login("alice@\(Self.anonymousDomain)", "--auth", "anonymous")
    #expect(elsewhere.status == 64)
    let refused = try await visitor.login(TestServer.domain, "--auth", "anonymous")
    #expect(refused.status == 69)
    #expect(try refused.error.name == "mechanismUnavailable")
    #expect(try await visitor.imctl.run("logout", Self.anonymousDomain).status == 0)
    #expect(try await visitor.imctl.run("status").status == 1)
    try await visitor.end()
  }

  @Test(
    "A login with a JWT is refused if the JWT names another user, and its stored JWT logs in again.",
    arguments: [TestServer.Kind.ejabberd, .ejabberd24])
  func jwt(kind: TestServer.Kind) async throws {
    let visitor = try await Visitor(kind) { $0.authentication = .jwt }
    let alice = visitor.server.jid("alice")
    let good = try await JSONWebToken.signed(["jid": .text(alice), "exp": 4_000_000_000])
    let login = try await visitor.login(alice, "--auth", "jwt", "--token-stdin", input: good)
    #expect(login.status == 0, "\(login.errors)")
    #expect(try await visitor.mechanism() == "PLAIN")
    #expect(try await visitor.imctl.run("agent", "restart").status == 0)
    try await eventually("the session") { try await visitor.imctl.session()?.isOnline == true }
    #expect(try await visitor.imctl.run("token", "print").output == good + "\n")
    let shown = try await visitor.imctl.run("token", "show").output
    #expect(shown.hasPrefix("\(alice)\tgiven\tjwt\t\t2096-10-02 07:06"), "\(shown)")

    let other = try await JSONWebToken.signed(["jid": .text(visitor.server.jid("bob")), "exp": 4_000_000_000])
    let refused = try await visitor.login(alice, "--auth", "jwt", "--token-stdin", input: other)
    #expect(refused.status == 77)
    let error = try refused.error
    #expect(error.name == "tokenIncorrect" && error.message.contains("jid bob@"), "\(error.message)")
    // A mistyped one leaves the session and what is stored alone.
    #expect(try await visitor.imctl.run("status").status == 0)
    let expired = try await JSONWebToken.signed(["jid": .text(alice), "exp": 1000])
    #expect(try await visitor.login(alice, "--auth", "jwt", "--token-stdin", input: expired).status == 79)
    try await visitor.end()
  }

  @Test(
    "A login with a token or a JSON document is accepted or refused by an external program of the server.",
    arguments: [TestServer.Kind.ejabberd, .ejabberd24])
  func external(kind: TestServer.Kind) async throws {
    let document = #"{"username":"bob","badge":17}"#
    let visitor = try await Visitor(kind) {
      $0.authentication = .external
      $0.accounts = ["alice": "the-token", "bob": document]
    }
    let login = try await visitor.login(
      visitor.server.jid("alice"), "--auth", "third-party", "--token-stdin", input: "the-token")
    #expect(login.status == 0, "\(login.errors)")
    let refused = try await visitor.login(
      visitor.server.jid("alice"), "--auth", "third-party", "--token-stdin", input: "another")
    #expect(refused.status == 77)
    #expect(try refused.error.code == 302)
    let function = try await visitor.login(
      visitor.server.jid("bob"), "--auth", "function", "--payload-stdin", input: document)
    #expect(function.status == 0, "\(function.errors)")
    try await visitor.end()
  }

  @Test(
    "A login with a client certificate needs no password, also after a restart of the agent.",
    arguments: [TestServer.Kind.ejabberd, .prosody13, .ejabberd24])
  func certificate(kind: TestServer.Kind) async throws {
    let authority = try await TestAuthority.shared
    let visitor = try await Visitor(kind) { $0.clientAuthority = authority.caFile }
    let alice = visitor.server.jid("alice")
    let certificate = try await authority.certificate(.client, for: [alice])
    let login = try await visitor.login(
      alice, "--auth", "external", "--cert", certificate.chainFile, "--key", certificate.keyFile)
    #expect(login.status == 0, "\(login.errors)")
    #expect(try await visitor.mechanism() == "EXTERNAL")
    #expect(try await visitor.imctl.run("agent", "restart").status == 0)
    try await eventually("the session") { try await visitor.imctl.session()?.isOnline == true }
    try await visitor.end()
  }

  @Test(
    "A login with an API key uses a bearer mechanism.",
    arguments: [TestServer.Kind.prosody13, .ejabberd24])
  func apiKey(kind: TestServer.Kind) async throws {
    let visitor = try await Visitor(kind) { $0.bearerTokenLifetime = 3600 }
    let alice = visitor.server.jid("alice")
    let login = try await visitor.login(
      alice, "--auth", "api-key", "--token-stdin", input: visitor.server.bearerToken("alice"))
    #expect(login.status == 0, "\(login.errors)")
    #expect(try await visitor.mechanism() == (kind.isProsody ? "OAUTHBEARER" : "X-OAUTH2"))
    let refused = try await visitor.login(alice, "--auth", "api-key", "--token-stdin", input: "wrong")
    #expect(refused.status == 77)
    #expect(try refused.error.name == "tokenIncorrect")
    try await visitor.end()
  }

  @Test(
    "A login with a token uses a bearer mechanism on a server that also offers SCRAM.",
    arguments: [TestServer.Kind.prosody13, .ejabberd24])
  func token(kind: TestServer.Kind) async throws {
    let visitor = try await Visitor(kind) { $0.bearerTokenLifetime = 3600 }
    let alice = visitor.server.jid("alice")
    for kindOfLogin in ["token", "third-party"] {
      let login = try await visitor.login(
        alice, "--auth", kindOfLogin, "--token-stdin", input: visitor.server.bearerToken("alice"))
      #expect(login.status == 0, "\(login.errors)")
      #expect(try await visitor.mechanism() == (kind.isProsody ? "OAUTHBEARER" : "X-OAUTH2"))
    }
    try await visitor.end()
  }

  @Test(
    "A login with an e-mail address uses the JID in which that address is escaped.",
    arguments: TestServer.Kind.allCases)
  func email(kind: TestServer.Kind) async throws {
    let visitor = try await Visitor(kind) { $0.accounts = [#"alice\40mail.example"#: "secret"] }
    let login = try await visitor.login(
      "Alice@mail.example", "--auth", "email", "--domain", TestServer.domain, "--password-stdin",
      input: "secret")
    #expect(login.status == 0, "\(login.errors)")
    #expect(
      try await visitor.imctl.run("whoami").output == #"alice\40mail.example@\#(TestServer.domain)"# + "\n")
    #expect(visitor.accounts.contains(#""auth" : "email""#))
    try await visitor.end()
  }
}

@Suite("Tokens that the server issues to a device", .serialized)
struct DeviceTokenTests {
  @Test(
    "A device token replaces the password at automatic logins, is bound to its device, and can be revoked.",
    arguments: TestServer.Kind.newer)
  func device(kind: TestServer.Kind) async throws {
    let visitor = try await Visitor(kind)
    let alice = visitor.server.jid("alice")
    let password = visitor.server.password("alice")
    let first = try await visitor.login(alice, "--password-stdin", input: password)
    #expect(first.status == 0, "\(first.errors)")
    #expect(try await visitor.mechanism()?.hasPrefix("SCRAM-") == true)
    let shown = try await visitor.imctl.run("token", "show").output
    #expect(shown.hasPrefix("\(alice)\tdevice\tpassword\tHT-SHA-256-"), "\(shown)")
    // By itself with the token; with a given password never.
    #expect(try await visitor.imctl.run("agent", "stop").status == 0)
    let automatic = try await visitor.imctl.run("login", "--auto")
    #expect(automatic.status == 0, "\(automatic.errors)")
    #expect(try await visitor.mechanism()?.hasPrefix("HT-SHA-256-") == true)
    #expect(try await visitor.imctl.run("agent", "stop").status == 0)
    let given = try await visitor.login(alice, "--password-stdin", input: password)
    #expect(given.status == 0)
    #expect(try await visitor.mechanism()?.hasPrefix("SCRAM-") == true)
    #expect(try await visitor.imctl.run("agent", "stop").status == 0)

    // What is stored, on another device.
    let other = try await IMCTL()
    let id = "11111111-2222-4333-8444-555555555555"
    let line = try #require(visitor.accounts.split(separator: "\n").first { $0.contains("\"deviceId\"") })
    let copy = visitor.accounts.replacing(line, with: #"      "deviceId" : "\#(id)","#)
    let path = other.home + "/.config/imctl"
    try FileManager.default.createDirectory(
      at: URL(filePath: path), withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    try Data(copy.utf8).write(to: URL(filePath: path + "/accounts.json"))
    chmod(path + "/accounts.json", 0o600)
    for _ in 0..<2 {
      let refused = try await other.run("login", "--auto", "--json")
      #expect(refused.status == 84, "\(refused.output)")
      #expect(try refused.error.name == "deviceChanged" && refused.error.code == 417)
    }
    let forced = try await other.run("login", "--auto", "--forced")
    #expect(forced.status == 0, "\(forced.errors)")
    #expect(try await other.run("token", "show").output.contains("device\tpassword\tHT-SHA-256-"))
    try await other.end()
    // Now that one is the last.
    #expect(try await visitor.imctl.run("login", "--auto").status == 84)
    #expect(try await visitor.imctl.run("login", "--auto", "--forced").status == 0)
    #expect(try await visitor.mechanism()?.hasPrefix("SCRAM-") == true)

    #expect(try await visitor.imctl.run("token", "revoke").status == 0)
    #expect(try await visitor.imctl.run("status").status == 0)
    #expect(try await visitor.imctl.run("token", "show").status == 1)
    #expect(try await visitor.imctl.run("agent", "stop").status == 0)
    let revoked = try await visitor.imctl.run("login", "--auto")
    #expect(revoked.status == 0, "\(revoked.errors)")
    #expect(try await visitor.mechanism()?.hasPrefix("SCRAM-") == true)
    let logout = try await visitor.imctl.run("logout", "--revoke")
    #expect(logout.status == 0, "\(logout.errors)")
    try await visitor.end()
  }

  @Test("A logout that cannot revoke the device token keeps it stored.")
  func unrevoked() async throws {
    let visitor = try await Visitor(.prosody13)
    let alice = visitor.server.jid("alice")
    let login = try await visitor.login(alice, "--password-stdin", input: visitor.server.password("alice"))
    #expect(login.status == 0, "\(login.errors)")
    try await visitor.server.end()
    let logout = try await visitor.imctl.run("logout", "--revoke", "--flush", "1")
    #expect(logout.output == "\(alice) offline\n" && logout.status == 69, "\(logout.errors)")
    #expect(try await visitor.imctl.run("status").status == 1)
    #expect(visitor.accounts.contains("HT-SHA-256-"))
    #expect(!visitor.accounts.contains(#""isLogin" : true"#))
    #expect(try await visitor.imctl.run("token", "show").status == 0)
    try await visitor.imctl.end()
  }

  @Test(
    "With --store token only the device token is stored, and the user is told if the server issues none.",
    arguments: TestServer.Kind.newer + [.prosody])
  func alone(kind: TestServer.Kind) async throws {
    let visitor = try await Visitor(kind)
    let alice = visitor.server.jid("alice")
    let password = visitor.server.password("alice")
    let arguments = ["login", alice, "--password-stdin", "--store", "token"] + visitor.connection
    let login = try await visitor.imctl.run(arguments, input: password)
    #expect(login.status == 0, "\(login.errors)")
    #expect(!visitor.accounts.contains(password) && !visitor.accounts.contains("scramKeys"))
    #expect(login.errors.contains("no credentials were stored") == !kind.hasSASL2)
    #expect(try await visitor.imctl.run("agent", "stop").status == 0)
    let again = try await visitor.imctl.run("login", "--auto")
    #expect(again.status == (kind.hasSASL2 ? 0 : 67), "\(again.errors)")
    if kind.hasSASL2 {
      // The server has lost it: nobody says that it was used elsewhere, and why it is over is told until a login.
      #expect(try await visitor.imctl.run("agent", "stop").status == 0)
      try visitor.spoilToken()
      for _ in 0..<2 {
        let lost = try await visitor.imctl.run("login", "--auto", "--json")
        #expect(lost.status == 79, "\(lost.errors)")
        #expect(try lost.error.name == "sessionExpired")
        _ = try await visitor.imctl.run("agent", "stop")
      }
    }
    try await visitor.end()
  }

  @Test(
    "A device token that the server has lost is replaced by another stored credential and then renewed.",
    arguments: TestServer.Kind.newer)
  func lost(kind: TestServer.Kind) async throws {
    let visitor = try await Visitor(kind)
    let alice = visitor.server.jid("alice")
    let login = try await visitor.login(alice, "--password-stdin", input: visitor.server.password("alice"))
    #expect(login.status == 0, "\(login.errors)")
    #expect(try await visitor.imctl.run("agent", "stop").status == 0)
    try visitor.spoilToken()
    let again = try await visitor.imctl.run("login", "--auto")
    #expect(again.status == 0, "\(again.errors)")
    #expect(try await visitor.mechanism()?.hasPrefix("SCRAM-") == true)
    // There is a new one.
    #expect(try await visitor.imctl.run("agent", "stop").status == 0)
    #expect(try await visitor.imctl.run("login", "--auto").status == 0)
    #expect(try await visitor.mechanism()?.hasPrefix("HT-SHA-256-") == true)
    try await visitor.end()
  }

  @Test(
    "With --store keys the SCRAM keys are stored in place of the password.",
    arguments: TestServer.Kind.allCases)
  func keys(kind: TestServer.Kind) async throws {
    let visitor = try await Visitor(kind)
    let password = visitor.server.password("alice")
    let login = try await visitor.login(
      visitor.server.jid("alice"), "--password-stdin", "--store", "keys", input: password)
    #expect(login.status == 0, "\(login.errors)")
    #expect(!visitor.accounts.contains(password) && visitor.accounts.contains("scramKeys"))
    #expect(try await visitor.imctl.run("token", "show").status == 1)
    #expect(try await visitor.imctl.run("agent", "stop").status == 0)
    let again = try await visitor.imctl.run("login", "--auto")
    #expect(again.status == 0, "\(again.errors)")
    #expect(try await visitor.mechanism()?.hasPrefix("SCRAM-") == true)
    try await visitor.end()
  }

  @Test("An automatic login needs an account that was logged in before.")
  func automatic() async throws {
    let imctl = try await IMCTL()
    for arguments in [["login", "--auto"], ["login", "alice@im.example", "--auto"]] {
      let result = try await imctl.run(arguments + ["--json"])
      #expect(result.status == 78)
      #expect(try result.error.name == "notInitialized")
    }
    let user = try await User()
    try await user.goOnline()
    let unknown = try await user.imctl.run("login", "alice@im.example", "--auto", "--json")
    #expect(unknown.status == 67)
    #expect(try unknown.error.name == "firstLoginNeedsNetwork")
    #expect(try await user.imctl.run("logout").status == 0)
    let result = try await user.imctl.run("login", "--auto", "--json")
    #expect(result.status == 67)
    #expect(try result.error.name == "notLoggedIn")
    try await user.imctl.end()
  }

  @Test("A detached login returns at once, and the account comes online later.")
  func detached() async throws {
    let user = try await User()
    let result = try await user.login("--detach")
    #expect(result.status == 0 && result.output == "", "\(result.errors)")
    try await eventually("the session") { try await user.session()?.state == .syncOK }
    #expect(try user.stored().map(\.isLogin) == [true])
    try await user.imctl.end()
  }

  @Test("A forced, detached automatic login returns at once from a silent server, and comes online later.")
  func detachedForced() async throws {
    let server = try await TestServer(Neighbourhood.options(.prosody13))
    let user = try await User(on: .prosody13, server: server)
    try await user.goOnline()
    #expect(try await user.imctl.run("agent", "stop").status == 0)
    try await server.freeze()
    let result = try await user.imctl.run("login", "--auto", "--forced", "--detach")
    #expect(result.status == 0, "\(result)")
    #expect(try await !user.status().isOnline)
    try await server.thaw()
    try await eventually("the session") { try await user.session()?.state == .syncOK }
    try await user.imctl.end()
    try await server.end()
  }
}
