import Testing

@testable import XMPPSASL

struct HTMechanismTests {
  /// No draft has an example: computed with Python's hmac.
  struct Vector: Sendable, CustomTestStringConvertible {
    let name: SASLMechanismName
    let initiator: String
    let responder: String

    var testDescription: String { name.description }
  }

  private static let token = "secret-token:fast-Oeie4nuqu2IeLai5fooz"
  private static let context = SASLContext(
    isEncrypted: true,
    channelBindings: [
      .tlsExporter: Array(0..<32), .tlsUnique: Array(100..<112), .tlsServerEndPoint: Array(200..<232),
    ])

  private static let vectors = [
    Vector(
      name: .htSHA256None, initiator: "22ba39ef2f059e3cd8637f2714edd0d3505e9dfd8572a467ba4e2122c2f082fd",
      responder: "6247f14b8b340df0f2523eb2da20cd187e420d4de4e6e5ded0f8bca7654bcc30"),
    Vector(
      name: .htSHA256Exporter, initiator: "0d422be4273e542b567f4c36240e74bfdb147216840b698c6e03a00bf1c270ab",
      responder: "8a89a3dc48b64ea56b547b139b7d889b8613f11ec7a257ce7ab73da857f97894"),
    Vector(
      name: .htSHA256Unique, initiator: "ed0a6b07b5dd9325c96e22a3a8f32b515c1b48ebe238334dcc6d31386412b386",
      responder: "8f1b0a16012bce4d4f613b589dd385059440b7aab2b60bb274febb6008c9172e"),
    Vector(
      name: .htSHA256EndPoint, initiator: "9e0ba38f9db4c925da754467a5d2c2bccea97866d4c8950cc604d060bcb241b8",
      responder: "66dfddba136f79be623cd25ac7f29e8d81c57402ce5da4d0952dd35d7cb97eae"),
  ]

  private func make(
    _ name: SASLMechanismName, authcid: String = "user", token: String = token,
    context: SASLContext = context
  ) throws(SASLError) -> HTMechanism {
    try HTMechanism(
      authcid: authcid, token: FASTToken(mechanism: name, secret: Secret(token)), context: context)
  }

  private func code(_ body: () throws -> Void) -> SASLError.Code? {
    do {
      try body()
      return nil
    } catch { return (error as? SASLError)?.code }
  }

  @Test(
    "The client and the server prove the token, with the channel binding of the mechanism.",
    arguments: vectors)
  func exchange(vector: Vector) throws {
    var mechanism = try make(vector.name)
    #expect(mechanism.name == vector.name)
    #expect(try mechanism.initialResponse() == bytes("user\0") + bytes(hex: vector.initiator))
    try mechanism.success(bytes(hex: vector.responder))
  }

  @Test(
    "A server that does not prove the token, or proves it for another channel, is refused.",
    arguments: vectors)
  func unproven(vector: Vector) throws {
    var sent = try make(vector.name)
    _ = try sent.initialResponse()
    func code(_ data: [UInt8]?) -> SASLError.Code? {
      self.code {
        var mechanism = sent
        try mechanism.success(data)
      }
    }
    #expect(code(nil) == .serverSignatureMissing)
    #expect(code([]) == .serverSignatureMissing)
    let right = bytes(hex: vector.responder)
    #expect(code(right) == nil)
    #expect(code(Array(right.dropLast())) == .serverSignatureMismatch)
    #expect(code(right + [0]) == .serverSignatureMismatch)
    #expect(code(bytes(hex: vector.initiator)) == .serverSignatureMismatch)
    #expect(code([UInt8](repeating: 0, count: 1_000_000)) == .serverSignatureMismatch)
    for other in Self.vectors where other.name != vector.name {
      #expect(code(bytes(hex: other.responder)) == .serverSignatureMismatch)
    }
    for bit in 0..<256 {
      var wrong = right
      wrong[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(code(wrong) == .serverSignatureMismatch)
    }
    #expect(SASLError(.serverSignatureMismatch, "").isProtocolViolation)
  }

  @Test("A message out of order is refused.")
  func order() throws {
    let right = bytes(hex: Self.vectors[0].responder)
    var early = try make(.htSHA256None)
    #expect(code { try early.success(right) } == .unexpectedSuccess)
    var challenged = try make(.htSHA256None)
    _ = try challenged.initialResponse()
    #expect(code { _ = try challenged.challenge(right) } == .unexpectedChallenge)
    #expect(code { try challenged.success(right) } == .unexpectedSuccess)
    var twice = try make(.htSHA256None)
    _ = try twice.initialResponse()
    try twice.success(right)
    #expect(code { try twice.success(right) } == .unexpectedSuccess)
    #expect(code { _ = try twice.initialResponse() } == .misuse)
  }

  @Test("A login with an unusable token or mechanism is refused before anything is sent.")
  func invalid() {
    #expect(code { _ = try make(.htSHA256None, authcid: "") } == .invalidUserName)
    #expect(code { _ = try make(.htSHA256None, authcid: "a\0b") } == .invalidUserName)
    #expect(code { _ = try make(.htSHA256None, token: "") } == .invalidToken)
    #expect(code { _ = try make(.plain) } == .mechanismUnavailable)
    #expect(
      code { _ = try make(.htSHA256Exporter, context: SASLContext(isEncrypted: true)) }
        == .mechanismUnavailable)
    let plain = SASLContext(isEncrypted: false, channelBindings: Self.context.channelBindings)
    for vector in Self.vectors {
      #expect(code { _ = try make(vector.name, context: plain) } == .mechanismUnavailable)
    }
  }

  @Test("A token is used only with the mechanism for which it was issued.")
  func fast() throws {
    var credentials = SASLCredentials(authcid: "user", password: Secret("hunter2"))
    func name(_ offered: [SASLMechanismName], _ context: SASLContext = Self.context) -> SASLMechanismName? {
      SASLMechanismChoice.fast(offered: offered, credentials: credentials, context: context)?.name
    }
    let all = Self.vectors.map(\.name)
    #expect(name(all) == nil)
    for mechanism in all {
      credentials.fastToken = FASTToken(mechanism: mechanism, secret: Secret(Self.token))
      #expect(name(all) == mechanism)
      #expect(name(all.filter { $0 != mechanism }) == nil)
      #expect(name([]) == nil)
      #expect(
        name(all, SASLContext(isEncrypted: false, channelBindings: Self.context.channelBindings)) == nil)
      #expect(
        name(all, SASLContext(isEncrypted: true)) == (mechanism == .htSHA256None ? .htSHA256None : nil))
    }
    credentials.fastToken = FASTToken(mechanism: .plain, secret: Secret(Self.token))
    #expect(name([.plain]) == nil)
  }

  @Test(
    "A token is requested with the strongest channel binding that TLS and the server support.",
    arguments: [
      ([.tlsExporter, .tlsUnique, .tlsServerEndPoint], nil, .htSHA256Exporter),
      ([.tlsUnique, .tlsServerEndPoint], nil, .htSHA256Unique),
      ([.tlsServerEndPoint], nil, .htSHA256EndPoint), ([], nil, .htSHA256None),
      ([.tlsExporter, .tlsUnique], [.tlsUnique], .htSHA256Unique), ([.tlsExporter], [], .htSHA256None),
      ([.tlsExporter, .tlsServerEndPoint], [.tlsServerEndPoint, .tlsExporter], .htSHA256Exporter),
    ] as [([ChannelBindingType], [ChannelBindingType]?, SASLMechanismName)])
  func request(tls: [ChannelBindingType], list: [ChannelBindingType]?, expected: SASLMechanismName) {
    let context = SASLContext(
      isEncrypted: true, channelBindings: Dictionary(uniqueKeysWithValues: tls.map { ($0, [1]) }))
    // As ejabberd does, whatever the version of TLS.
    let all = Self.vectors.map(\.name)
    func mechanism(_ offered: [SASLMechanismName]) -> SASLMechanismName? {
      SASLMechanismChoice.tokenMechanism(offered: offered, channelBindings: list, context: context)
    }
    #expect(mechanism(all) == expected)
    #expect(mechanism(all.reversed()) == expected)
    #expect(mechanism([.plain, .scramSHA1, SASLMechanismName("HT-SHA-512-EXPR")]) == nil)
    #expect(mechanism([]) == nil)
  }

  @Test("A printed mechanism does not show the token.")
  func silence() throws {
    var mechanism = try make(.htSHA256Exporter)
    expectSilence(of: mechanism, about: Self.token)
    _ = try mechanism.initialResponse()
    expectSilence(of: mechanism, about: Self.token)
  }
}
