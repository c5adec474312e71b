import TestSupport
import Testing

@testable import XMPPSASL

/// What a hostile or broken server may say to SCRAM, and how each is refused.
struct SCRAMHostileServerTests {
  private static let password = "hunter2-πßå"
  private static let nonce = "fyko+d2lbbFgONRv9qkxdawL"

  struct Attack: Sendable, CustomTestStringConvertible {
    let what: String
    let message: [UInt8]
    let code: SASLError.Code

    init(_ what: String, _ message: String, _ code: SASLError.Code) {
      self.init(what, Array(message.utf8), code)
    }

    init(_ what: String, _ message: [UInt8], _ code: SASLError.Code) {
      self.what = what
      self.message = message
      self.code = code
    }

    var testDescription: String { what }
  }

  private static func first(
    r: String = nonce + "server", s: String = "QSXCR+Q6sek8bf92", i: String = "4096"
  ) -> String { "r=\(r),s=\(s),i=\(i)" }

  private static let firstAttacks: [Attack] = [
    Attack("nonce of the server alone", first(r: "3rfcNHYJY1ZVvWVs7j"), .nonceMismatch),
    Attack("nonce that only ends with ours", first(r: "x" + nonce), .nonceMismatch),
    Attack("nonce that is only ours", first(r: nonce), .nonceMismatch),
    Attack("nonce cut short", first(r: String(nonce.dropLast())), .nonceMismatch),
    Attack("nonce in other case", first(r: nonce.lowercased() + "x"), .nonceMismatch),
    Attack("empty nonce", first(r: ""), .malformed),
    Attack("nonce with a space", first(r: nonce + "a b"), .malformed),
    Attack("nonce beyond ASCII", first(r: nonce + "é"), .malformed),
    Attack("combining mark after our nonce", first(r: nonce + "\u{301}"), .malformed),
    Attack("one iteration", first(i: "1"), .iterationsOutOfRange),
    Attack("4095 iterations", first(i: "4095"), .iterationsOutOfRange),
    Attack("1,000,001 iterations", first(i: "1000001"), .iterationsOutOfRange),
    Attack("2^31 iterations", first(i: "2147483648"), .iterationsOutOfRange),
    Attack("2^64 iterations", first(i: "18446744073709551616"), .iterationsOutOfRange),
    Attack(
      "a thousand digits of iterations", first(i: String(repeating: "9", count: 1000)),
      .iterationsOutOfRange),
    Attack("no iterations", first(i: "0"), .malformed),
    Attack("negative iterations", first(i: "-4096"), .malformed),
    Attack("iterations with a plus", first(i: "+4096"), .malformed),
    Attack("iterations with a leading zero", first(i: "04096"), .malformed),
    Attack("half an iteration", first(i: "4096.5"), .malformed),
    Attack("iterations in hexadecimal", first(i: "0x1000"), .malformed),
    Attack("iterations in Arabic digits", first(i: "٤٠٩٦"), .malformed),
    Attack("iterations with a space", first(i: "4096 "), .malformed),
    Attack("empty iterations", first(i: ""), .malformed),
    Attack("empty salt", first(s: ""), .malformed),
    Attack("salt that is not base64", first(s: "*"), .malformed),
    Attack("salt without padding", first(s: "QQ"), .malformed),
    Attack("salt of padding only", first(s: "===="), .malformed),
    Attack("salt with bits left over", first(s: "QR=="), .malformed),
    Attack("salt with a line break", first(s: "QSXC\nR+Q6"), .malformed),
    Attack("a mandatory extension", "m=ext," + first(), .unsupportedExtension),
    Attack("a mandatory extension at the end", first() + ",m=ext", .unsupportedExtension),
    Attack("a nonce twice", first() + ",r=\(nonce)evil", .malformed),
    Attack("a salt twice", first() + ",s=QQ==", .malformed),
    Attack("an iteration count twice", first() + ",i=4096", .malformed),
    Attack("a signature already", first() + ",v=rmF9pqV8S7suAoZWja4dJRkFsKQ=", .malformed),
    Attack("an error at the end", first() + ",e=other-error", .malformed),
    Attack("another order", "s=QSXCR+Q6sek8bf92,r=\(nonce)x,i=4096", .malformed),
    Attack("an extension in front", "x=1," + first(), .malformed),
    Attack("no salt", "r=\(nonce)x,i=4096", .malformed),
    Attack("no iteration count", "r=\(nonce)x,s=QSXCR+Q6sek8bf92", .malformed),
    Attack("a comma at the end", first() + ",", .malformed),
    Attack("a comma in front", "," + first(), .malformed),
    Attack("an extension without value", first() + ",x=", .malformed),
    Attack("an extension without =", first() + ",x", .malformed),
    Attack("an extension with a digit for a name", first() + ",1=x", .malformed),
    Attack("a combining mark on an =", first() + ",x=\u{301}\u{301},y\u{301}=1", .malformed),
    Attack("nothing", "", .malformed),
    Attack("a comma", ",", .malformed),
    Attack("a NUL", first() + ",x=a\0b", .malformed),
    Attack("invalid UTF-8", bytes(first() + ",x=") + [0xFF, 0xC0], .malformed),
    Attack("an overlong comma", bytes(first() + ",x=") + [0xC0, 0xAC], .malformed),
    Attack("the last message first", "v=rmF9pqV8S7suAoZWja4dJRkFsKQ=", .malformed),
    Attack(
      "8,193 bytes", first() + ",x=" + String(repeating: "x", count: 8193 - first().utf8.count - 3), .tooLarge
    ),
    Attack("10 MB", first() + ",x=" + String(repeating: "x", count: 10_000_000), .tooLarge),
    Attack("an error", "e=unknown-user", .serverError),
  ]

  private static let finalAttacks: [Attack] = [
    Attack("no signature", "", .serverSignatureMissing),
    Attack("a wrong signature", "v=AAAAAAAAAAAAAAAAAAAAAAAAAAA=", .serverSignatureMismatch),
    Attack("a short signature", "v=AAAA", .serverSignatureMismatch),
    Attack("a long signature", "v=" + String(repeating: "A", count: 4000), .serverSignatureMismatch),
    Attack("a signature that is empty", "v=", .malformed),
    Attack("a signature that is not base64", "v=*", .malformed),
    Attack("another attribute", "x=rmF9pqV8S7suAoZWja4dJRkFsKQ=", .malformed),
    Attack("the first message again", first(), .malformed),
    Attack("an error", "e=invalid-proof", .serverError),
    Attack("10 MB", "v=" + String(repeating: "A", count: 10_000_000), .tooLarge),
    Attack("invalid UTF-8", [0x76, 0x3D, 0xFF], .malformed),
  ]

  /// A mechanism that has sent its first message, or also its proof.
  private func mechanism(afterProof: Bool) throws -> (mechanism: SCRAMMechanism, signature: String) {
    var mechanism = try SCRAMMechanism(
      hash: .sha1,
      credentials: SASLCredentials(authcid: "user", password: Secret(Self.password)), nonce: Self.nonce)
    _ = try mechanism.initialResponse()
    guard afterProof else { return (mechanism, "") }
    guard case .derive(let request) = try mechanism.challenge(bytes(Self.first())) else {
      throw SASLError(.misuse, "no derivation")
    }
    let keys = try request.derive()
    guard case .respond(let final) = try mechanism.derived(keys) else {
      throw SASLError(.misuse, "no response")
    }
    let withoutProof = String(decoding: final, as: UTF8.self).split(separator: ",").dropLast().joined(
      separator: ",")
    let signed = "n=user,r=\(Self.nonce),\(Self.first()),\(withoutProof)"
    return (mechanism, "v=" + Base64.encode(try Digest.sha1.hmac(key: keys.serverKey, bytes(signed))))
  }

  private func expectEnd(_ mechanism: SCRAMMechanism, sourceLocation: SourceLocation = #_sourceLocation) {
    var copy = mechanism
    #expect(throws: SASLError.self, sourceLocation: sourceLocation) {
      try copy.challenge(bytes(Self.first()))
    }
    copy = mechanism
    #expect(throws: SASLError.self, sourceLocation: sourceLocation) { try copy.success(nil) }
    copy = mechanism
    #expect(throws: SASLError.self, sourceLocation: sourceLocation) { try copy.initialResponse() }
  }

  private func isRefusal(_ error: any Error, _ code: SASLError.Code) -> Bool {
    guard let error = error as? SASLError else { return false }
    expectSilence(of: error, about: Self.password)
    #expect(error.message.utf8.count < 200)
    #expect(error.message.unicodeScalars.allSatisfy { (0x20...0x7E).contains($0.value) })
    #expect(error.isProtocolViolation == (code != .serverError))
    return error.code == code
  }

  @Test("A hostile first message is refused before any key is derived.", arguments: firstAttacks)
  func firstMessage(attack: Attack) throws {
    var (mechanism, _) = try mechanism(afterProof: false)
    #expect { try mechanism.challenge(attack.message) } throws: { isRefusal($0, attack.code) }
    expectEnd(mechanism)
  }

  @Test("A hostile final message inside a success is refused.", arguments: finalAttacks)
  func lastMessageInSuccess(attack: Attack) throws {
    var (mechanism, _) = try mechanism(afterProof: true)
    #expect { try mechanism.success(attack.message) } throws: { isRefusal($0, attack.code) }
    expectEnd(mechanism)
  }

  @Test("A hostile final message inside a challenge is refused.", arguments: finalAttacks.dropFirst())
  func lastMessageInChallenge(attack: Attack) throws {
    var (mechanism, _) = try mechanism(afterProof: true)
    #expect { try mechanism.challenge(attack.message) } throws: { isRefusal($0, attack.code) }
    expectEnd(mechanism)
  }

  @Test("A signature with a single wrong bit is refused.")
  func everyBit() throws {
    let (mechanism, right) = try mechanism(afterProof: true)
    let signature = try #require(Base64.decode(String(right.dropFirst(2))))
    for bit in 0..<signature.count * 8 {
      var wrong = signature
      wrong[bit / 8] ^= 1 << UInt8(bit % 8)
      var copy = mechanism
      #expect {
        try copy.success(bytes("v=" + Base64.encode(wrong)))
      } throws: {
        isRefusal($0, .serverSignatureMismatch)
      }
    }
    var copy = mechanism
    try copy.success(bytes(right))
  }

  @Test("A success without a signature is refused.", arguments: [nil, []] as [[UInt8]?])
  func bareSuccess(data: [UInt8]?) throws {
    var (mechanism, _) = try mechanism(afterProof: true)
    #expect { try mechanism.success(data) } throws: { isRefusal($0, .serverSignatureMissing) }
    expectEnd(mechanism)
  }

  @Test(
    "A success before the proof is refused, whatever data it has.",
    arguments: [nil, [], Array("v=rmF9pqV8S7suAoZWja4dJRkFsKQ=".utf8)] as [[UInt8]?])
  func earlySuccess(data: [UInt8]?) throws {
    var (unanswered, _) = try mechanism(afterProof: false)
    #expect { try unanswered.success(data) } throws: { isRefusal($0, .unexpectedSuccess) }
    expectEnd(unanswered)

    var (deriving, _) = try mechanism(afterProof: false)
    guard case .derive(let request) = try deriving.challenge(bytes(Self.first())) else {
      Issue.record("no derivation")
      return
    }
    #expect { try deriving.success(data) } throws: { isRefusal($0, .unexpectedSuccess) }
    #expect(throws: SASLError.self) { try deriving.derived(request.derive()) }
    expectEnd(deriving)

    var silent = try SCRAMMechanism(
      hash: .sha1, credentials: SASLCredentials(authcid: "user", password: Secret(Self.password)))
    #expect { try silent.success(data) } throws: { isRefusal($0, .unexpectedSuccess) }
  }

  @Test("A challenge before the first message, during the derivation or after the end is refused.")
  func unexpectedChallenges() throws {
    var silent = try SCRAMMechanism(
      hash: .sha1, credentials: SASLCredentials(authcid: "user", password: Secret(Self.password)))
    #expect { try silent.challenge([]) } throws: { isRefusal($0, .unexpectedChallenge) }

    var (deriving, _) = try mechanism(afterProof: false)
    _ = try deriving.challenge(bytes(Self.first()))
    #expect { try deriving.challenge(bytes(Self.first())) } throws: { isRefusal($0, .unexpectedChallenge) }
    expectEnd(deriving)

    var (verified, signature) = try mechanism(afterProof: true)
    _ = try verified.challenge(bytes(signature))
    #expect { try verified.challenge(bytes(signature)) } throws: { isRefusal($0, .unexpectedChallenge) }
    expectEnd(verified)

    var (done, last) = try mechanism(afterProof: true)
    try done.success(bytes(last))
    #expect { try done.challenge(bytes(last)) } throws: { isRefusal($0, .unexpectedChallenge) }
    expectEnd(done)
  }

  @Test("A success with data is refused once the server has proved itself in a challenge.")
  func successAfterProof() throws {
    var (mechanism, signature) = try mechanism(afterProof: true)
    _ = try mechanism.challenge(bytes(signature))
    #expect { try mechanism.success(bytes(signature)) } throws: { isRefusal($0, .malformed) }
    expectEnd(mechanism)
  }

  @Test(
    "An error of the server is reported only if it has the form of an error name.",
    arguments: [
      ("invalid-proof", "invalid-proof"), ("Extensions2", "Extensions2"), ("\u{1B}[2J", "other-error"),
      ("no such user", "other-error"), (String(repeating: "a", count: 65), "other-error"),
      ("ünknown", "other-error"),
    ])
  func serverErrors(value: String, told: String) throws {
    var (mechanism, _) = try mechanism(afterProof: true)
    #expect {
      try mechanism.challenge(bytes("e=\(value),x=1"))
    } throws: { error in
      isRefusal(error, .serverError) && (error as? SASLError)?.serverValue == told
    }
  }

  @Test(
    "An optional extension is ignored.",
    arguments: [",h=dGVzdA==", ",x=1,y=2,Z===,h=ü", ",x=1,x=1", ",x=\u{301}"])
  func extensions(text: String) throws {
    var (mechanism, _) = try mechanism(afterProof: false)
    guard case .derive(let request) = try mechanism.challenge(bytes(Self.first() + text)) else {
      Issue.record("no derivation")
      return
    }
    #expect(request.iterations == 4096)

    var (last, signature) = try self.mechanism(afterProof: true)
    try last.success(bytes(signature + text))
  }

  @Test("The smallest and the largest allowed iteration counts are accepted.", arguments: [4096, 1_000_000])
  func bounds(iterations: Int) throws {
    var (mechanism, _) = try mechanism(afterProof: false)
    guard case .derive(let request) = try mechanism.challenge(bytes(Self.first(i: "\(iterations)"))) else {
      Issue.record("no derivation")
      return
    }
    #expect(request.iterations == iterations)
  }

  @Test("A message that is cut anywhere is refused, or read up to the cut, and never traps.")
  func truncated() throws {
    let whole = bytes(Self.first(i: "1000000"))
    for length in 0..<whole.count {
      var (mechanism, _) = try mechanism(afterProof: false)
      let cut = Array(whole.prefix(length))
      if case .derive(let request) = try? mechanism.challenge(cut) {
        #expect(SCRAMKeyRequest.iterationRange.contains(request.iterations))
        #expect(length >= whole.count - 3)
      }
    }
  }

  @Test("A message with random damage is refused or read completely, and never traps.")
  func damaged() throws {
    var generator = SeededGenerator(seed: 5802)
    let whole = bytes(Self.first() + ",h=dGVzdA==")
    for _ in 0..<20_000 {
      var message = whole
      for _ in 0..<Int.random(in: 1...4, using: &generator) {
        let place = Int.random(in: 0..<message.count, using: &generator)
        switch Int.random(in: 0..<3, using: &generator) {
        case 0: message[place] = UInt8.random(in: .min ... .max, using: &generator)
        case 1: message.remove(at: place)
        default: message.insert(",=remsiv\0é".utf8.randomElement(using: &generator) ?? 0, at: place)
        }
      }
      if let read = try? SCRAMServerFirst(message) {
        #expect(SCRAMKeyRequest.iterationRange.contains(read.iterations))
        #expect(!read.salt.isEmpty && !read.nonce.isEmpty)
      }
      _ = try? SCRAMServerFinal(message)
    }
  }
}
