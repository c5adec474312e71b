import Testing
import XMPPSASL
import XMPPStanza
import XMPPTransport
import XMPPXML

@testable import XMPP

/// XEP-0484: a token of the server instead of the password, which is "secret" here as well.
@Suite("Logins with a token of the server")
struct TokenLoginTests {
  typealias C = Conversation
  typealias E = SASL2Tests

  private static let token = FASTToken(mechanism: .htSHA256Exporter, secret: Secret("t0ken"))
  private static let fast = ["HT-SHA-256-EXPR"]
  private static let offer = AuthenticationOffer(
    mechanisms: [],
    sasl2: .init(mechanisms: [.plain], tokenMechanisms: [.htSHA256Exporter], bindFeatures: []))

  /// The server's half of the proof.
  private static func proof(_ token: String = "t0ken") throws -> String {
    let proof = try Digest.sha256.hmac(
      key: Secret(token), Array("Responder".utf8) + (C.tls13.channelBindings.exporter ?? []))
    return "<additional-data>\(Base64.encode(proof))</additional-data>"
  }

  private func encrypted(
    password: String? = "secret", fallsBack: Bool = true, pipelining: Pipelining = .stepByStep,
    purpose: StreamNegotiator.Purpose = .login
  ) throws -> Conversation {
    var talk = try Conversation(tls: .direct, pipelining: pipelining) {
      $0.userAgent = UserAgent(id: "d4565fa7-4d72-4749-b3d3-740edbf87770")
      $0.credentials.fastToken = Self.token
      $0.credentials.password = password.map { Secret($0) }
      $0.fallsBackFromToken = fallsBack
      $0.purpose = purpose
    }
    talk.connect()
    talk.encrypt()
    return talk
  }

  @Test("A token login over direct TLS sends everything with the stream header and takes three round trips.")
  func pipelined() throws {
    var talk = try encrypted(pipelining: Pipelining(startTLS: true, offer: Self.offer, binding: true))
    let request = try #require(talk.log.last)
    #expect(
      request.hasPrefix("<stream from><authenticate xmlns='urn:xmpp:sasl:2' mechanism='HT-SHA-256-EXPR'>"))
    #expect(request.contains("<fast xmlns='urn:xmpp:fast:0'/>"))
    #expect(request.contains("<bind xmlns='urn:xmpp:bind:0'"))
    #expect(!request.contains("request-token"))
    try talk.server(C.header, E.features(fast: Self.fast), E.success("alice@example.org/x", try Self.bound()))
    #expect(talk.failure == nil)
    #expect(talk.boundJID?.resource == "x")
    #expect(talk.login?.mechanism == .htSHA256Exporter)
    #expect(talk.login?.fastToken == nil)
    #expect(talk.negotiator.roundTrips == 3)
  }

  private static func bound(_ token: String = "t0ken", _ more: String = "") throws -> String {
    try proof(token) + "<bound xmlns='urn:xmpp:bind:0'/>" + more
  }

  @Test("A server that cannot prove its knowledge of the token is not trusted.")
  func wrongProof() throws {
    for success in [try Self.bound("other"), "<bound xmlns='urn:xmpp:bind:0'/>"] {
      var talk = try encrypted()
      try talk.server(C.header, E.features(fast: Self.fast))
      try talk.server(E.success("alice@example.org/x", success))
      #expect(talk.failure?.code == .protocolError)
      #expect(talk.boundJID == nil)
    }
  }

  @Test("A new token that comes with the success replaces the old one.")
  func rotation() throws {
    var talk = try encrypted()
    try talk.server(C.header, E.features(fast: Self.fast))
    try talk.server(
      E.success(
        "alice@example.org/x",
        try Self.bound("t0ken", "<token xmlns='urn:xmpp:fast:0' token='n3w' expiry='2030-01-01T00:00:00Z'/>"))
    )
    #expect(
      talk.login?.fastToken
        == FASTToken(mechanism: .htSHA256Exporter, secret: Secret("n3w"), expiry: "2030-01-01T00:00:00Z"))
  }

  @Test("A password login requests a token and stores it with the mechanism of the request.")
  func request() throws {
    var talk = try Conversation(tls: .direct) {
      $0.userAgent = UserAgent(id: "d4565fa7-4d72-4749-b3d3-740edbf87770")
    }
    talk.connect()
    talk.encrypt()
    try talk.server(C.header, E.features(fast: ["HT-SHA-256-ENDP", "HT-SHA-256-NONE"]))
    #expect(
      talk.log.last?.contains("<request-token xmlns='urn:xmpp:fast:0' mechanism='HT-SHA-256-NONE'/>") == true)
    try talk.server(
      E.success(
        "alice@example.org/x",
        "<bound xmlns='urn:xmpp:bind:0'/><token xmlns='urn:xmpp:fast:0' token='n3w'/>"))
    #expect(talk.login?.fastToken == FASTToken(mechanism: .htSHA256None, secret: Secret("n3w")))
  }

  @Test("A malformed token is ignored.", arguments: ["", String(repeating: "x", count: 4097)])
  func absurd(_ token: String) throws {
    var talk = try encrypted()
    try talk.server(C.header, E.features(fast: Self.fast))
    try talk.server(
      E.success(
        "alice@example.org/x", try Self.bound("t0ken", "<token xmlns='urn:xmpp:fast:0' token='\(token)'/>")))
    #expect(talk.boundJID != nil)
    #expect(talk.login?.fastToken == nil)
  }

  @Test(
    "A login whose token is refused continues on the same stream with the password and requests a new token.",
    arguments: [Pipelining.stepByStep, Pipelining(startTLS: true, offer: offer, binding: true)])
  func fallback(_ pipelining: Pipelining) throws {
    var talk = try encrypted(pipelining: pipelining)
    try talk.server(C.header, E.features(fast: Self.fast))
    try talk.server(E.failure("not-authorized"))
    #expect(talk.log.suffix(2).first == "logining PLAIN")
    let request = try #require(talk.log.last)
    #expect(request.contains("mechanism='PLAIN'") && request.contains("AGFsaWNlAHNlY3JldA=="))
    #expect(request.contains("<request-token"))
    #expect(!request.contains("<fast"))
    try talk.server(E.success("alice@example.org/x"))
    #expect(talk.boundJID != nil)
    #expect(talk.login?.isTokenRefused == true)
  }

  @Test(
    "A refused token without an alternative is reported with the cause of the refusal.",
    arguments: [
      ("not-authorized", "secret", false, XMPPError.Code.deviceChanged),
      ("credentials-expired", "secret", false, .tokenExpired),
      ("not-authorized", nil, true, .authFailed), ("credentials-expired", nil, true, .tokenExpired),
    ] as [(String, String?, Bool, XMPPError.Code)])
  func refused(_ condition: String, _ password: String?, _ fallsBack: Bool, _ code: XMPPError.Code) throws {
    var talk = try encrypted(password: password, fallsBack: fallsBack)
    try talk.server(C.header, E.features(fast: Self.fast))
    try talk.server(E.failure(condition))
    #expect(talk.failure?.code == code)
    #expect(talk.failure?.condition == condition)
    #expect(talk.failure?.text == "no")
  }

  @Test("A token login that fails for a temporary reason is not followed by a password login.")
  func otherTrouble() throws {
    var talk = try encrypted()
    try talk.server(C.header, E.features(fast: Self.fast))
    try talk.server(E.failure("temporary-auth-failure"))
    #expect(talk.failure?.code == .networkError)
    #expect(!talk.log.joined().contains("PLAIN"))
  }

  @Test("A token without channel binding is not sent before the server has offered its mechanism.")
  func unbound() throws {
    let offer = AuthenticationOffer(
      mechanisms: [], sasl2: .init(mechanisms: [], tokenMechanisms: [.htSHA256None]))
    var talk = try Conversation(tls: .direct, pipelining: Pipelining(offer: offer)) {
      $0.credentials.fastToken = FASTToken(mechanism: .htSHA256None, secret: Secret("t0ken"))
    }
    talk.connect()
    talk.encrypt()
    #expect(talk.log.last == "<stream from>")
  }

  @Test("A token login names the account, even if the password belongs to another user name.")
  func otherName() throws {
    var talk = try Conversation(tls: .direct) {
      $0.credentials.authcid = "staff-17"
      $0.credentials.fastToken = Self.token
    }
    talk.connect()
    talk.encrypt()
    try talk.server(C.header, E.features(fast: Self.fast))
    // "alice" and NUL.
    #expect(talk.log.last?.contains("<initial-response>YWxpY2UA") == true)
  }

  @Test("A server that no longer accepts tokens gets the password by a mechanism that it offers.")
  func gone() throws {
    var talk = try encrypted()
    try talk.server(C.header, C.mechanisms("PLAIN"))
    #expect(talk.log.last?.hasPrefix("<auth ") == true)
  }

  @Test("The invalidation of a token binds no resource and never falls back to the password.")
  func invalidation() throws {
    var talk = try encrypted(purpose: .tokenInvalidation)
    try talk.server(C.header, E.features(fast: Self.fast))
    #expect(talk.log.last?.contains("<fast xmlns='urn:xmpp:fast:0' invalidate='true'/>") == true)
    #expect(talk.log.last?.contains("<bind") == false)
    try talk.server(E.success("alice@example.org", try Self.proof()))
    #expect(talk.log.last?.hasPrefix("ready") == true)
    var refused = try encrypted(purpose: .tokenInvalidation)
    try refused.server(C.header, E.features(fast: Self.fast))
    try refused.server(E.failure("not-authorized"))
    #expect(refused.failure?.code == .authFailed)
    var gone = try encrypted(purpose: .tokenInvalidation)
    try gone.server(C.header, E.features())
    #expect(gone.failure?.code == .authFailed)
    #expect(!gone.log.joined().contains("AGFsaWNlAHNlY3JldA=="))
  }
}
