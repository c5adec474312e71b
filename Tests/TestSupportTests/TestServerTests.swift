import TestSupport
import Testing

@Suite("Private test servers")
struct TestServerTests {
  @Test(
    "A private server shows two users each other's presence.", arguments: TestServer.Kind.allCases,
    [false, true])
  func presence(kind: TestServer.Kind, directTLS: Bool) async throws {
    let server = try await TestServer.shared(kind)
    let bob = try await Counterpart("bob", on: server, directTLS: directTLS)
    let alice = try await Counterpart("alice", on: server, directTLS: directTLS)
    let jid = alice.jid
    try await bob.presence { $0.from == jid && $0.type == "available" }
    try alice.show("away", status: "lunch")
    let away = try await bob.presence { $0.from == jid && $0.show == "away" }
    #expect(away == .init(from: jid, type: "available", show: "away", status: "lunch"))
    try alice.send("hello", to: server.jid("bob"))
    try await bob.message { $0.from == jid && $0.body == "hello" }
    try await alice.end()
    try await bob.presence { $0.from == jid && $0.type == "unavailable" }
    try await bob.settled()
    #expect(bob.presences.count { $0.from == jid && $0.type == "unavailable" } == 1)
    try await bob.end()
  }

  @Test(
    "A private server can be stopped, restarted on the same ports, frozen and killed.",
    arguments: TestServer.Kind.allCases)
  func lifetime(kind: TestServer.Kind) async throws {
    let server = try await TestServer(.init(kind))
    try await server.shutDown()
    await #expect(throws: TestSupportError.self) { try await Counterpart("bob", on: server) }
    try await server.start()
    try await Counterpart("bob", on: server).end()
    try await server.freeze()
    try await server.thaw()
    try await Counterpart("bob", on: server).end()
    try await server.kill()
    try await server.start()
    try await Counterpart("bob", on: server).end()
    try await server.end()
  }

  @Test(
    "A private server accepts logins with hashed and with plain stored passwords.",
    arguments: TestServer.Kind.allCases)
  func passwordStore(kind: TestServer.Kind) async throws {
    var options = TestServer.Options(kind)
    options.hash = "SHA-256"
    let hashed = try await TestServer(options)
    try await Counterpart("alice", on: hashed).end()
    try await hashed.end()
    options.passwordStore = .plain
    options.maximumTLS = "1.2"
    let plain = try await TestServer(options)
    try await Counterpart("alice", on: plain).end()
    try await plain.end()
  }

  @Test(
    "A private server offers SASL2 with Bind 2 and FAST if its version supports them.",
    arguments: TestServer.Kind.allCases)
  func features(kind: TestServer.Kind) async throws {
    let server = try await TestServer.shared(kind)
    let features = try await server.features()
    #expect(features.contains("<mechanism>SCRAM-SHA-1</mechanism>"))
    #expect(features.contains("<authentication xmlns='urn:xmpp:sasl:2'>") == kind.hasSASL2)
    #expect(features.contains("<bind xmlns='urn:xmpp:bind:0'>") == kind.hasSASL2)
    #expect(features.contains("<mechanism>HT-SHA-256-EXPR</mechanism>") == kind.hasSASL2)
    #expect(features.contains("<channel-binding type='tls-exporter'/>") == kind.hasSASL2)
    #expect(!features.contains("<register "))
    if kind == .prosody13 {
      let older = try await server.features(directTLS: true, maximumTLS: "1.2")
      #expect(older.contains("<mechanism>HT-SHA-256-UNIQ</mechanism>"))
      #expect(older.contains("<channel-binding type='tls-unique'/>"))
    }
  }

  @Test(
    "A private server can accept anonymous users, refuse or disable accounts, and register new ones.",
    arguments: TestServer.Kind.allCases)
  func admission(kind: TestServer.Kind) async throws {
    var options = TestServer.Options(kind)
    options.anonymousDomain = "anonymous.example"
    options.registration = true
    options.denied = kind.isProsody ? [] : ["carol"]
    options.disabled = kind == .prosody ? [:] : ["bob": "enough"]
    let server = try await TestServer(options)
    #expect(try await server.features().contains("<register "))
    #expect(try await server.answer(to: "ANONYMOUS", "", at: "anonymous.example").contains("<success"))
    #expect(try await server.answer(to: "PLAIN", "\0alice\0alice-secret").contains("<success"))
    let bob = try await server.answer(to: "PLAIN", "\0bob\0bob-secret")
    #expect(bob.contains("<success") == (kind == .prosody))
    #expect(bob.contains("<account-disabled/>") == kind.hasSASL2)
    #expect(bob.contains("Account is banned: enough") == (kind == .ejabberd24))
    if !kind.isProsody {
      let carol = try await server.answer(to: "PLAIN", "\0carol\0carol-secret", account: "carol", bind: true)
      #expect(carol.contains("<not-allowed "))
    }
    try await server.end()
  }

  @Test(
    "A private server issues bearer tokens and accepts them.",
    arguments: [TestServer.Kind.prosody13, .ejabberd, .ejabberd24])
  func bearerTokens(kind: TestServer.Kind) async throws {
    var options = TestServer.Options(kind)
    options.bearerTokenLifetime = 3600
    let server = try await TestServer(options)
    let token = server.bearerToken("alice")
    #expect(!token.isEmpty)
    let (mechanism, response) =
      kind.isProsody
      ? ("OAUTHBEARER", "n,a=\(server.jid("alice")),\u{1}auth=Bearer \(token)\u{1}\u{1}")
      : ("X-OAUTH2", "\0alice\0\(token)")
    #expect(try await server.answer(to: mechanism, response).contains("<success"))
    let wrong = response.replacing(token, with: "wrong")
    #expect(try await !server.answer(to: mechanism, wrong).contains("<success"))
    try await server.end()
  }

  @Test(
    "A private server can authenticate by an external script or by the signature of a JSON Web Token.",
    arguments: [TestServer.Kind.ejabberd, .ejabberd24])
  func otherAuthentication(kind: TestServer.Kind) async throws {
    var options = TestServer.Options(kind)
    options.authentication = .external
    let external = try await TestServer(options)
    #expect(try await external.answer(to: "PLAIN", "\0alice\0alice-secret").contains("<success"))
    #expect(try await external.answer(to: "PLAIN", "\0alice\0alice-secre").contains("<not-authorized/>"))
    #expect(try await !external.features().contains("<mechanism>SCRAM"))
    try await external.end()

    options.authentication = .jwt
    let jwt = try await TestServer(options)
    let token = try await JSONWebToken.signed(["jid": .text(jwt.jid("alice")), "exp": 4_102_444_800])
    #expect(try await jwt.answer(to: "PLAIN", "\0alice\0\(token)").contains("<success"))
    let expired = try await JSONWebToken.signed(["jid": .text(jwt.jid("alice")), "exp": 1_000_000_000])
    #expect(try await jwt.answer(to: "PLAIN", "\0alice\0\(expired)").contains("<not-authorized/>"))
    #expect(try await jwt.answer(to: "PLAIN", "\0alice\0\(token.dropLast(2))").contains("<not-authorized/>"))
    try await jwt.end()
  }

  @Test(
    "A private server can authenticate a user by a client certificate.",
    arguments: [TestServer.Kind.prosody13, .ejabberd, .ejabberd24])
  func clientCertificate(kind: TestServer.Kind) async throws {
    let authority = try await TestAuthority.shared
    var options = TestServer.Options(kind)
    options.clientAuthority = authority.caFile
    let server = try await TestServer(options)
    let alice = try await authority.certificate(.client, for: [server.jid("alice")])
    #expect(try await server.answer(to: "EXTERNAL", "", certificate: alice).contains("<success"))
    #expect(try await !server.answer(to: "EXTERNAL", "").contains("<success"))
    try await server.end()
  }
}
