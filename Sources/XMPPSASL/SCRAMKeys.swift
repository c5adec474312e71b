/// The input of the key derivation, which is the slow part of SCRAM (RFC 5802 §3).
public struct SCRAMKeyRequest: Hashable, Sendable, CustomStringConvertible {
  /// The accepted numbers of iterations: fewer make guessing too easy (RFC 7677 §4), more would be an attack on this
  /// machine.
  public static let iterationRange = 4096...1_000_000

  public let hash: Digest
  public let salt: [UInt8]
  public let iterations: Int
  /// The password after SASLprep, as UTF-8.
  public let password: Secret

  /// Throws `iterationsOutOfRange`, or `malformed` for an empty salt.
  public init(hash: Digest, salt: [UInt8], iterations: Int, password: Secret) throws(SASLError) {
    guard Self.iterationRange.contains(iterations) else {
      throw SCRAMKeyRequest.iterationsOutOfRange
    }
    guard !salt.isEmpty else { throw SASLError(.malformed, "the server's salt is empty") }
    self.hash = hash
    self.salt = salt
    self.iterations = iterations
    self.password = password
  }

  static let iterationsOutOfRange = SASLError(
    .iterationsOutOfRange,
    "the server asks for an iteration count outside \(iterationRange.lowerBound) to \(iterationRange.upperBound)"
  )

  public var description: String { "\(hash.rawValue), \(iterations) iterations" }

  /// Derives the keys. This takes up to a second of computation, so never call it on an event loop.
  public func derive() throws(SASLError) -> SCRAMKeys {
    let saltedPassword = try hash.pbkdf2(password: password, salt: salt, iterations: iterations)
    var clientKey = try hash.hmac(key: saltedPassword, "Client Key".utf8)
    var serverKey = try hash.hmac(key: saltedPassword, "Server Key".utf8)
    return SCRAMKeys(
      hash: hash, salt: salt, iterations: iterations, clientKey: Secret(wiping: &clientKey),
      serverKey: Secret(wiping: &serverKey))
  }
}

/// The keys of an account at a server, valid as long as the server keeps salt and iteration count.
///
/// Like a password, they log in at this server: store them with the same care.
public struct SCRAMKeys: Hashable, Sendable {
  public let hash: Digest
  public let salt: [UInt8]
  public let iterations: Int
  public let clientKey: Secret
  public let serverKey: Secret

  func belong(toHash hash: Digest, salt: [UInt8], iterations: Int) -> Bool {
    self.hash == hash && self.salt == salt && self.iterations == iterations
  }
}

extension SCRAMKeys: Codable {
  private enum CodingKeys: String, CodingKey { case hash, salt, iterations, clientKey, serverKey }

  /// Salt and keys are encoded as base64 text.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(hash, forKey: .hash)
    try container.encode(Base64.encode(salt), forKey: .salt)
    try container.encode(iterations, forKey: .iterations)
    try container.encode(clientKey.withBytes { Base64.encode($0) }, forKey: .clientKey)
    try container.encode(serverKey.withBytes { Base64.encode($0) }, forKey: .serverKey)
  }

  /// Throws `DecodingError` for values that no derivation can have produced.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    func bytes(_ key: CodingKeys) throws -> [UInt8] {
      guard let bytes = Base64.decode(try container.decode(String.self, forKey: key)), !bytes.isEmpty else {
        throw DecodingError.dataCorruptedError(forKey: key, in: container, debugDescription: "not base64")
      }
      return bytes
    }
    func secret(_ key: CodingKeys, byteCount: Int) throws -> Secret {
      var bytes = try bytes(key)
      guard bytes.count == byteCount else {
        throw DecodingError.dataCorruptedError(forKey: key, in: container, debugDescription: "wrong length")
      }
      return Secret(wiping: &bytes)
    }
    hash = try container.decode(Digest.self, forKey: .hash)
    salt = try bytes(.salt)
    iterations = try container.decode(Int.self, forKey: .iterations)
    guard SCRAMKeyRequest.iterationRange.contains(iterations) else {
      throw DecodingError.dataCorruptedError(
        forKey: .iterations, in: container, debugDescription: "out of range")
    }
    clientKey = try secret(.clientKey, byteCount: hash.byteCount)
    serverKey = try secret(.serverKey, byteCount: hash.byteCount)
  }
}
