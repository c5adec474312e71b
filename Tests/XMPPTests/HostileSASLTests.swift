import TestSupport
import Testing
import XMPPSASL

@testable import XMPP

@Suite("Servers that cheat at authentication", .timeLimit(.minutes(6)))
struct HostileSASLTests {
  typealias Step = ScriptedServer.Step
  typealias SCRAMServer = ScriptedServer.SCRAMServer

  private static let sasl = "xmlns='urn:ietf:params:xml:ns:xmpp-sasl'"
  private static let auth = Step.client("<auth \(sasl) mechanism='*'/>")

  private static func offering(_ mechanisms: String...) -> [Step] {
    .login(until: .mechanisms, mechanisms: mechanisms)
  }

  private static func scram(_ variant: SCRAMServer.Variant, iterations: String = "4096") -> [Step] {
    var server = SCRAMServer(variant)
    server.iterations = iterations
    return .login(until: .authenticated, mechanisms: ["SCRAM-SHA-256", "SCRAM-SHA-1"], scram: server)
  }

  @Test("A server with an invalid SCRAM challenge gets no proof of the password.")
  func badChallenges() async throws {
    let variants: [SCRAMServer.Variant] = [
      .foreignNonce, .emptyNonce, .unchangedNonce, .emptySalt, .saltNotBase64, .mandatoryExtension,
      .bareSuccess, .successBeforeProof,
    ]
    let counts = [
      "1", "4095", "1000001", "2147483648", "9223372036854775808", "-1", "0x2000", "8192.5", "1e4", "",
    ]
    let attacks =
      variants.map { Attack($0.rawValue, Self.scram($0), .protocolError, .authenticate) }
      + counts.map { Attack("i=\($0)", Self.scram(.honest, iterations: $0), .protocolError, .authenticate) }
    try await attacks.run()
  }

  @Test("A server without a valid SCRAM signature is not trusted.")
  func badSignatures() async throws {
    try await [
      Attack("wrong", Self.scram(.wrongSignature), .protocolError, .authenticate),
      Attack("missing", Self.scram(.missingSignature), .protocolError, .authenticate),
      Attack("an error in its place", Self.scram(.serverError), .protocolError, .authenticate),
    ].run(showsProof: true)
  }

  @Test("A server that offers no acceptable mechanism gets no credential.")
  func offers() async throws {
    try await [
      Attack("ANONYMOUS only", Self.offering("ANONYMOUS"), .mechanismUnavailable, .authenticate),
      Attack("EXTERNAL only", Self.offering("EXTERNAL"), .mechanismUnavailable, .authenticate),
      Attack("old ones only", Self.offering("DIGEST-MD5", "CRAM-MD5"), .mechanismUnavailable, .authenticate),
      Attack("nothing", Self.offering(), .mechanismUnavailable, .authenticate),
      Attack("lower case", Self.offering("plain", "scram-sha-1"), .mechanismUnavailable, .authenticate),
      Attack(
        "PLAIN beside a SCRAM that is not ours", Self.offering("SCRAM-SHA3-512", "PLAIN"),
        .mechanismUnavailable, .authenticate),
      Attack(
        "a thousand", .login(until: .mechanisms, mechanisms: (0..<1000).map { "X-\($0)" }),
        .mechanismUnavailable, .authenticate),
    ].run()
  }

  @Test("A server that offers less than the SCRAM mechanism used before does not get the password.")
  func downgrade() async throws {
    let start: [Step] =
      .login(until: .secured) + [.header, .client("<auth \(Self.sasl) mechanism='SCRAM-SHA-256'/>")]
    func offering(_ names: String...) -> Step {
      let list = names.map { "<mechanism>\($0)</mechanism>" }.joined()
      return .features("<mechanisms \(Self.sasl)>\(list)</mechanisms>")
    }
    try await [
      Attack("PLAIN only", start + [offering("PLAIN")], .downgrade, .authenticate),
      Attack("SHA-1 only", start + [offering("SCRAM-SHA-1", "PLAIN")], .downgrade, .authenticate),
      Attack(
        "refused as unknown",
        start + [
          offering("SCRAM-SHA-256", "PLAIN"), .server("<failure \(Self.sasl)><invalid-mechanism/></failure>"),
        ], .mechanismUnavailable, .authenticate),
      Attack(
        "a challenge before the features",
        start + [.server("<challenge \(Self.sasl)>cj0x</challenge>")], .protocolError, .stream),
    ].run {
      $0.pipelining = Pipelining(offer: .init(mechanisms: [.scramSHA256]))
      $0.policy.pinned = .scramSHA256
    }
  }

  @Test("A server that sends SASL elements out of order ends the login.")
  func order() async throws {
    let challenge = Step.server("<challenge \(Self.sasl)>cj0x</challenge>")
    let start = Self.offering("SCRAM-SHA-1") + [Self.auth]
    try await [
      Attack(
        "a challenge unasked", Self.offering() + [challenge], .mechanismUnavailable, .authenticate),
      Attack(
        "not base64", start + [.server("<challenge \(Self.sasl)>*</challenge>")], .protocolError,
        .authenticate),
      Attack(
        "an empty challenge", start + [.server("<challenge \(Self.sasl)/>")], .protocolError, .authenticate),
      Attack("another namespace", start + [.server("<success/>")], .protocolError, .authenticate),
      Attack(
        "binding before success", start + [.server("<iq type='result' id='bind'/>")], .protocolError,
        .authenticate),
      Attack(
        "an unknown element", start + [.server("<continue \(Self.sasl)/>")], .protocolError, .authenticate),
    ].run()
    // PLAIN has shown the password by then: that is what it is for, inside TLS.
    let server = try await ScriptedServer(
      Self.offering("PLAIN") + [Self.auth, challenge, .flood("<challenge \(Self.sasl)/>", bytes: 1 << 24)])
    #expect(try await Failed(Login(server).failure()) == Failed(.protocolError, .authenticate))
    #expect(!server.receivedInTheClear.contains("<auth"))
    #expect(server.received.components("<auth") == 1)
    try await server.end()
  }

  @Test("The condition of a SASL failure decides which error is reported.")
  func conditions() async throws {
    let conditions: [(String, XMPPError.Code)] = [
      ("aborted", .protocolError), ("account-disabled", .userBlocked), ("credentials-expired", .tokenExpired),
      ("encryption-required", .mechanismUnavailable), ("incorrect-encoding", .protocolError),
      ("invalid-authzid", .authFailed), ("invalid-mechanism", .mechanismUnavailable),
      ("malformed-request", .protocolError), ("mechanism-too-weak", .mechanismUnavailable),
      ("not-authorized", .authFailed), ("temporary-auth-failure", .networkError),
      ("of-tomorrow", .protocolError),
    ]
    let start = Self.offering("SCRAM-SHA-1") + [Self.auth]
    try await
      (conditions.map { name, code in
        Attack(
          name, start + [.server("<failure \(Self.sasl)><\(name)/><text>Because.</text></failure>")], code,
          .authenticate)
      } + [Attack("none", start + [.server("<failure \(Self.sasl)/>")], .protocolError, .authenticate)]).run()
  }

  @Test("A bind result with a JID that is not a full JID of the account is refused.")
  func binding() async throws {
    let jids = [
      "mallory@\(TestServer.domain)/x", "alice@evil.example/x", "\(TestServer.domain)/x",
      "alice@\(TestServer.domain)",
      "аlice@\(TestServer.domain)/x", "@@", "",
    ]
    let bound = Attack(
      "no bind", .login(until: .authenticated) + [.header, .features("<mechanisms \(Self.sasl)/>")],
      .protocolError, .bind)
    try await
      (jids.map { Attack("bound \($0)", .login(until: .bound, jid: $0), .protocolError, .bind) } + [bound])
      .run(showsProof: true)
  }

  @Test("The condition of a bind error decides which error is reported.")
  func bindErrors() async throws {
    let conditions: [(String, XMPPError.Code)] = [
      ("not-allowed", .loginForbidden), ("conflict", .tooManyDevices),
      ("resource-constraint", .tooManyDevices),
      ("bad-request", .invalidParameter), ("internal-server-error", .networkError), ("gone", .stanzaError),
    ]
    try await conditions.map { name, code in
      Attack(
        name,
        .login(until: .authenticated) + [
          .header, .features("<bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/>"),
          .client("<iq type='set' id='{bind}'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></iq>"),
          .server(
            "<iq type='error' id='{bind}'><error type='cancel'><\(name) xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error></iq>"
          ),
        ], code, .bind)
    }.run(showsProof: true)
  }

  @Test("A login ignores offers of compression and of registration.")
  func compression() async throws {
    let compression =
      "<compression xmlns='http://jabber.org/features/compress'><method>zlib</method></compression>"
    let server = try await ScriptedServer(
      .login(
        until: .bound, features: compression + "<register xmlns='http://jabber.org/features/iq-register'/>"))
    #expect(try await Login(server).failure() == nil)
    #expect(!server.received.contains("<compress"))
    expectNoSecret(at: server)
    try await server.end()
  }
}

extension String {
  /// How often `part` occurs.
  func components(_ part: String) -> Int { ranges(of: part).count }
}
