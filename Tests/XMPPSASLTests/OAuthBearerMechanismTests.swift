import Testing

@testable import XMPPSASL

struct OAuthBearerMechanismTests {
  /// The token of RFC 7628 §4.
  private static let token = "vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg=="

  private func make(
    _ token: String = token, authzid: String? = nil, loginExtension: String? = nil
  ) throws(SASLError) -> OAuthBearerMechanism {
    var credentials = SASLCredentials(authcid: "user", authzid: authzid)
    credentials.bearerToken = Secret(token)
    credentials.loginExtension = loginExtension
    return try OAuthBearerMechanism(credentials: credentials)
  }

  private func refused(_ json: String) throws -> OAuthBearerMechanism {
    var mechanism = try make()
    _ = try mechanism.initialResponse()
    #expect(mechanism.refusal == nil)
    #expect(try mechanism.challenge(bytes(json)) == .respond([1]))
    return mechanism
  }

  @Test("The first message is that of the example in RFC 7628 §4.1, without the optional host and port.")
  func rfc7628() throws {
    var mechanism = try make(authzid: "user@example.com")
    #expect(mechanism.name == .oauthBearer)
    #expect(
      try mechanism.initialResponse()
        == bytes("n,a=user@example.com,\u{1}auth=Bearer \(Self.token)\u{1}\u{1}"))
    try mechanism.success(nil)
    #expect(mechanism.refusal == nil)
  }

  @Test(
    "The authorization identity is escaped, and left out if there is none.",
    arguments: [
      (nil, "n,,"), ("", "n,,"), ("a,b=c@example.org", "n,a=a=2Cb=3Dc@example.org,"), ("ü", "n,a=ü,"),
    ] as [(String?, String)])
  func authzid(authzid: String?, header: String) throws {
    var mechanism = try make("t", authzid: authzid)
    #expect(try mechanism.initialResponse() == bytes("\(header)\u{1}auth=Bearer t\u{1}\u{1}"))
  }

  @Test(
    "The login extension follows the token in a form that RFC 7628 §3.1 allows.",
    arguments: [
      ("", ""), ("a=b, c", "loginext=a=b, c\u{1}"), ("100%", "loginext=100%25\u{1}"),
      ("a\u{1}b\n", "loginext=a%01b%0A\u{1}"), ("ß\u{1F511}", "loginext=%C3%9F%F0%9F%94%91\u{1}"),
    ])
  func loginExtension(text: String, pair: String) throws {
    var mechanism = try make("t", loginExtension: text)
    let message = try #require(try mechanism.initialResponse())
    #expect(message == bytes("n,,\u{1}auth=Bearer t\u{1}\(pair)\u{1}"))
    #expect(message.allSatisfy { $0 == 1 || (0x20...0x7E).contains($0) })
  }

  @Test(
    "A token with a character that cannot be sent is refused.",
    arguments: ["", "a b", "a\u{1}auth=Bearer b", "a\0", "é", "a\n"])
  func invalidToken(token: String) {
    #expect {
      try make(token)
    } throws: { error in
      if !token.isEmpty { expectSilence(of: error, about: token) }
      return (error as? SASLError)?.code == .invalidToken
    }
    #expect { try make(authzid: "a\0b") } throws: { ($0 as? SASLError)?.code == .invalidUserName }
  }

  @Test("The refusal of the example in RFC 7628 §4.3 is answered and its content is kept.")
  func refusal() throws {
    var mechanism = try refused(
      """
      {"status":"invalid_token","scope":"example_scope",\
      "openid-configuration":"https://example.com/.well-known/openid-configuration"}
      """)
    #expect(mechanism.refusal?.status == "invalid_token")
    #expect(mechanism.refusal?.scope == "example_scope")
    #expect(
      mechanism.refusal?.openIDConfiguration == "https://example.com/.well-known/openid-configuration")
    // Only failure can follow.
    #expect { try mechanism.success(nil) } throws: { ($0 as? SASLError)?.code == .unexpectedSuccess }
  }

  @Test(
    "A refusal is kept only with values that are harmless.",
    arguments: [
      (#"{"status":"invalid_token"}"#, "invalid_token", nil),
      (#"{"status":"insufficient_scope","scope":"a b","more":[1,{}]}"#, "insufficient_scope", "a b"),
      (#"{"status":"401","schemes":"bearer"}"#, "401", nil),
      (#"{"status":"\u001b[2J","scope":"\u001b[2J"}"#, "other", nil),
      (#"{"status":"","scope":""}"#, "other", nil),
      (#"{"status":"invalid token","scope":null}"#, "other", nil),
    ] as [(String, String, String?)])
  func refusals(json: String, status: String, scope: String?) throws {
    let mechanism = try refused(json)
    #expect(mechanism.refusal?.status == status)
    #expect(mechanism.refusal?.scope == scope)
  }

  @Test("A refusal is kept without values that are too long.")
  func longRefusal() throws {
    let long = String(repeating: "a", count: 2000)
    let mechanism = try refused(
      #"{"status":"\#(long)","scope":"\#(long)","openid-configuration":"\#(long)"}"#)
    #expect(mechanism.refusal?.status == "other")
    #expect(mechanism.refusal?.scope == nil)
    #expect(mechanism.refusal?.openIDConfiguration == nil)
  }

  @Test(
    "A malformed refusal ends the login.",
    arguments: [
      ("", SASLError.Code.malformed), ("{}", .malformed), ("[]", .malformed), (#"{"status":7}"#, .malformed),
      (#"{"status":"invalid_token""#, .malformed), ("invalid_token", .malformed), ("\u{1}", .malformed),
      (String(repeating: "[", count: 8192), .malformed), (String(repeating: " ", count: 8193), .tooLarge),
    ])
  func malformedRefusal(json: String, code: SASLError.Code) throws {
    var mechanism = try make()
    _ = try mechanism.initialResponse()
    #expect { try mechanism.challenge(bytes(json)) } throws: { ($0 as? SASLError)?.code == code }
    #expect(mechanism.refusal == nil)
    #expect(throws: SASLError.self) { try mechanism.success(nil) }
  }

  @Test("A refusal that is not UTF-8 ends the login.")
  func invalidText() throws {
    var mechanism = try make()
    _ = try mechanism.initialResponse()
    #expect(throws: SASLError.self) { try mechanism.challenge([0xFF, 0xFE, 0x00, 0xC0]) }
  }

  @Test("A message out of order is refused.")
  func order() throws {
    var early = try make()
    #expect { try early.success(nil) } throws: { ($0 as? SASLError)?.code == .unexpectedSuccess }
    var unasked = try make()
    #expect { try unasked.challenge([]) } throws: { ($0 as? SASLError)?.code == .unexpectedChallenge }
    var twice = try make()
    _ = try twice.initialResponse()
    #expect { try twice.initialResponse() } throws: { ($0 as? SASLError)?.code == .misuse }
    var again = try refused(#"{"status":"invalid_token"}"#)
    #expect {
      try again.challenge(bytes(#"{"status":"invalid_token"}"#))
    } throws: {
      ($0 as? SASLError)?.code == .unexpectedChallenge
    }
  }

  @Test("A printed mechanism does not show the token.")
  func silence() throws {
    var mechanism = try make()
    expectSilence(of: mechanism, about: Self.token)
    _ = try mechanism.initialResponse()
    expectSilence(of: mechanism, about: Self.token)
  }
}
