import Testing
import XMPPSASL

struct SingleMessageMechanismTests {
  private static let token = "vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg=="

  private func plain(
    _ authcid: String, _ password: String, authzid: String? = nil
  ) throws(SASLError) -> SingleMessageMechanism {
    try .plain(SASLCredentials(authcid: authcid, authzid: authzid, password: Secret(password)))
  }

  private func xOAuth2(
    _ authcid: String, _ token: String, authzid: String? = nil
  ) throws(SASLError) -> SingleMessageMechanism {
    var credentials = SASLCredentials(authcid: authcid, authzid: authzid)
    credentials.bearerToken = Secret(token)
    return try .xOAuth2(credentials)
  }

  private static func all() throws -> [SingleMessageMechanism] {
    var credentials = SASLCredentials(authcid: "user", password: Secret("hunter2"))
    credentials.bearerToken = Secret(token)
    return try [.plain(credentials), .xOAuth2(credentials), .external(credentials), .anonymous()]
  }

  @Test("The messages of PLAIN are those of the examples in RFC 4616 §4.")
  func rfc4616() throws {
    var mechanism = try plain("tim", "tanstaaftanstaaf")
    #expect(try mechanism.initialResponse() == bytes("\0tim\0tanstaaftanstaaf"))
    try mechanism.success(nil)

    var proxy = try plain("Kurt", "xipj3plmq", authzid: "Ursel")
    #expect(try proxy.initialResponse() == bytes("Ursel\0Kurt\0xipj3plmq"))
  }

  @Test("PLAIN sends the name and the password as they were typed, for the server to prepare them.")
  func unprepared() throws {
    var mechanism = try plain("jürgen", "ｐａｓｓ\u{1F511}")
    #expect(try mechanism.initialResponse() == bytes("\0jürgen\0ｐａｓｓ\u{1F511}"))
  }

  @Test(
    "PLAIN refuses empty parts, and parts with a NUL, before anything is sent.",
    arguments: [
      ("user", "", nil, SASLError.Code.invalidPassword), ("user", "a\0b", nil, .invalidPassword),
      ("", "hunter2", nil, .invalidUserName), ("us\0er", "hunter2", nil, .invalidUserName),
      ("user", "hunter2", "a\0b", .invalidUserName),
    ] as [(String, String, String?, SASLError.Code)])
  func invalid(authcid: String, password: String, authzid: String?, code: SASLError.Code) {
    #expect {
      try plain(authcid, password, authzid: authzid)
    } throws: { error in
      expectSilence(of: error, about: "hunter2")
      return (error as? SASLError)?.code == code
    }
  }

  @Test("X-OAUTH2 has the message of PLAIN with a token in place of the password.")
  func tokens() throws {
    var mechanism = try xOAuth2("user", Self.token)
    #expect(mechanism.name == .xOAuth2)
    #expect(try mechanism.initialResponse() == bytes("\0user\0\(Self.token)"))
    try mechanism.success(nil)
    var other = try xOAuth2("user", "t", authzid: "boss@example.org")
    #expect(try other.initialResponse() == bytes("boss@example.org\0user\0t"))
  }

  @Test(
    "X-OAUTH2 refuses an invalid token or name before anything is sent.",
    arguments: [
      ("user", "", nil, SASLError.Code.invalidToken), ("user", "a b", nil, .invalidToken),
      ("user", "a\0b", nil, .invalidToken), ("user", "a\n", nil, .invalidToken),
      ("user", "tökén", nil, .invalidToken), ("", "abc", nil, .invalidUserName),
      ("a\0b", "abc", nil, .invalidUserName), ("user", "abc", "a\0b", .invalidUserName),
    ] as [(String, String, String?, SASLError.Code)])
  func invalidToken(authcid: String, token: String, authzid: String?, code: SASLError.Code) {
    #expect {
      try xOAuth2(authcid, token, authzid: authzid)
    } throws: {
      ($0 as? SASLError)?.code == code
    }
  }

  @Test("EXTERNAL sends the authorization identity, or nothing if there is none.")
  func external() throws {
    var own = try SingleMessageMechanism.external(SASLCredentials(authcid: "user"))
    #expect(own.name == .external)
    #expect(try own.initialResponse() == [])
    try own.success(nil)
    var other = try SingleMessageMechanism.external(
      SASLCredentials(authcid: "user", authzid: "boss@example.org"))
    #expect(try other.initialResponse() == bytes("boss@example.org"))
    #expect {
      try SingleMessageMechanism.external(SASLCredentials(authcid: "user", authzid: "a\0b"))
    } throws: {
      ($0 as? SASLError)?.code == .invalidUserName
    }
  }

  @Test("ANONYMOUS sends an empty message.")
  func anonymous() throws {
    var mechanism = SingleMessageMechanism.anonymous()
    #expect(mechanism.name == .anonymous)
    #expect(try mechanism.initialResponse() == [])
    try mechanism.success(nil)
  }

  @Test("Additional data with the success is ignored.", arguments: [nil, [], [1, 2, 3]] as [[UInt8]?])
  func additionalData(data: [UInt8]?) throws {
    for var mechanism in try Self.all() {
      _ = try mechanism.initialResponse()
      try mechanism.success(data)
    }
  }

  @Test("A challenge is refused, and so is a success that follows it.")
  func challenge() throws {
    for var mechanism in try Self.all() {
      _ = try mechanism.initialResponse()
      #expect(throws: SASLError.self) { try mechanism.challenge(bytes("again?")) }
      #expect { try mechanism.success(nil) } throws: { ($0 as? SASLError)?.code == .unexpectedSuccess }
    }
  }

  @Test("A success before the message, and a second success, are refused.")
  func order() throws {
    for mechanism in try Self.all() {
      var early = mechanism
      #expect { try early.success(nil) } throws: { ($0 as? SASLError)?.code == .unexpectedSuccess }

      var twice = mechanism
      _ = try twice.initialResponse()
      try twice.success(nil)
      #expect(throws: SASLError.self) { try twice.success(nil) }
      #expect(throws: SASLError.self) { try twice.initialResponse() }
    }
  }

  @Test("A printed mechanism shows neither the password nor the token.")
  func silence() throws {
    for mechanism in try Self.all() {
      expectSilence(of: mechanism, about: "hunter2")
      expectSilence(of: mechanism, about: Self.token)
    }
  }
}
