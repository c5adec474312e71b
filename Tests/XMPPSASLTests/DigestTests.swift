import Testing

@testable import XMPPSASL

struct DigestTests {
  @Test(
    "The hashes of \"abc\" are those of FIPS 180.",
    arguments: [
      (Digest.sha1, "a9993e364706816aba3e25717850c26c9cd0d89d"),
      (.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
      (
        .sha512,
        """
        ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
        2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f
        """
      ),
    ])
  func hash(digest: Digest, hex: String) throws {
    #expect(try digest.hash(bytes("abc")) == bytes(hex: hex))
    #expect(digest.byteCount == bytes(hex: hex).count)
  }

  @Test("The SHA-256 hash of an empty message is correct.")
  func emptyMessage() throws {
    let expected = bytes(hex: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    #expect(try sha256([]) == expected)
  }

  @Test(
    "The HMACs of test case 2 are those of RFC 2202 and RFC 4231.",
    arguments: [
      (Digest.sha1, "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"),
      (.sha256, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
      (
        .sha512,
        """
        164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554\
        9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737
        """
      ),
    ])
  func hmac(digest: Digest, hex: String) throws {
    #expect(
      try digest.hmac(key: Secret("Jefe"), bytes("what do ya want for nothing?")) == bytes(hex: hex))
  }

  /// A row of RFC 6070 §2; the one of 16,777,216 iterations is beyond what any server may ask.
  struct PBKDF2Vector: Sendable {
    let password: String
    let salt: String
    let iterations: Int
    let hex: String
  }

  @Test(
    "PBKDF2 with HMAC-SHA-1 has the results of RFC 6070.",
    arguments: [
      PBKDF2Vector(
        password: "password", salt: "salt", iterations: 1, hex: "0c60c80f961f0e71f3a9b524af6012062fe037a6"),
      PBKDF2Vector(
        password: "password", salt: "salt", iterations: 2, hex: "ea6c014dc72d6f8ccd1ed92ace1d41f0d8de8957"),
      PBKDF2Vector(
        password: "password", salt: "salt", iterations: 4096,
        hex: "4b007901b765489abead49d926f721d065a429c1"),
      PBKDF2Vector(
        password: "passwordPASSWORDpassword", salt: "saltSALTsaltSALTsaltSALTsaltSALTsalt", iterations: 4096,
        hex: "3d2eec4fe41c849b80c8d83662c0e44a8b291a964cf2f07038"),
      PBKDF2Vector(
        password: "pass\0word", salt: "sa\0lt", iterations: 4096, hex: "56fa6aa75548099dcc37d7f03425e0c3"),
    ])
  func pbkdf2(vector: PBKDF2Vector) throws {
    let expected = bytes(hex: vector.hex)
    let derived = try Digest.sha1.pbkdf2(
      password: Secret(vector.password), salt: bytes(vector.salt), iterations: vector.iterations,
      byteCount: expected.count)
    #expect(derived == Secret(bytes: expected))
  }

  @Test("PBKDF2 with HMAC-SHA-256 has the result of RFC 7914 §11.")
  func pbkdf2SHA256() throws {
    let expected = """
      55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc\
      49ca9cccf179b645991664b39d77ef317c71b845b1e30bd509112041d3a19783
      """
    let derived = try Digest.sha256.pbkdf2(
      password: Secret("passwd"), salt: bytes("salt"), iterations: 1, byteCount: 64)
    #expect(derived == Secret(bytes: bytes(hex: expected)))
  }

  @Test(
    "Iteration counts that OpenSSL cannot take are refused.", arguments: [Int.min, -1, 0, 1 << 31, Int.max])
  func impossibleIterations(iterations: Int) {
    #expect {
      try Digest.sha1.pbkdf2(password: Secret("secret"), salt: [1], iterations: iterations)
    } throws: {
      ($0 as? SASLError)?.code == .libraryFailure
    }
  }

  @Test("Random bytes have the requested length and do not repeat.")
  func random() throws {
    #expect(try randomBytes(count: 0) == [])
    let first = try randomBytes(count: 24)
    #expect(first.count == 24)
    #expect(try randomBytes(count: 24) != first)
  }
}
