import COpenSSL

/// The hash functions of SCRAM, computed by OpenSSL. The raw value is the IANA name of the hash.
public enum Digest: String, Codable, Hashable, Sendable, CaseIterable {
  case sha1 = "SHA-1"
  case sha256 = "SHA-256"
  case sha512 = "SHA-512"

  /// The length of a hash, in bytes.
  public var byteCount: Int {
    switch self {
    case .sha1: 20
    case .sha256: 32
    case .sha512: 64
    }
  }

  /// The hash of a message.
  public func hash(_ message: some Collection<UInt8>) throws(SASLError) -> [UInt8] {
    let message = Array(message)
    return try produce { EVP_Digest(message, message.count, $0, nil, algorithm, nil) }
  }

  /// HMAC (RFC 2104).
  public func hmac(key: Secret, _ message: some Collection<UInt8>) throws(SASLError) -> [UInt8] {
    let message = Array(message)
    return try key.withBytes { (key) throws(SASLError) in
      guard let length = Int32(exactly: key.count) else { throw failure }
      return try produce {
        HMAC(algorithm, key.baseAddress, length, message, message.count, $0, nil) == nil ? 0 : 1
      }
    }
  }

  /// PBKDF2 with HMAC (RFC 8018 §5.2); the result is as long as the hash. Blocks during the computation.
  public func pbkdf2(password: Secret, salt: [UInt8], iterations: Int) throws(SASLError) -> Secret {
    try pbkdf2(password: password, salt: salt, iterations: iterations, byteCount: byteCount)
  }

  func pbkdf2(password: Secret, salt: [UInt8], iterations: Int, byteCount: Int) throws(SASLError) -> Secret {
    try password.withBytes { (password) throws(SASLError) in
      guard let passwordLength = Int32(exactly: password.count), let saltLength = Int32(exactly: salt.count),
        let rounds = Int32(exactly: iterations), rounds > 0, let resultLength = Int32(exactly: byteCount)
      else { throw failure }
      var result = [UInt8](repeating: 0, count: byteCount)
      let status = PKCS5_PBKDF2_HMAC(
        password.baseAddress, passwordLength, salt, saltLength, rounds, algorithm, resultLength, &result)
      guard status == 1 else { throw failure }
      return Secret(wiping: &result)
    }
  }

  private var algorithm: OpaquePointer? {
    switch self {
    case .sha1: EVP_sha1()
    case .sha256: EVP_sha256()
    case .sha512: EVP_sha512()
    }
  }

  private var failure: SASLError { SASLError(.libraryFailure, "OpenSSL could not compute \(rawValue)") }

  private func produce(_ body: (UnsafeMutablePointer<UInt8>?) -> Int32) throws(SASLError) -> [UInt8] {
    var result = [UInt8](repeating: 0, count: byteCount)
    let status = result.withUnsafeMutableBufferPointer { body($0.baseAddress) }
    guard status == 1 else { throw failure }
    return result
  }
}

/// The SHA-256 hash of a message.
public func sha256(_ message: some Collection<UInt8>) throws(SASLError) -> [UInt8] {
  try Digest.sha256.hash(message)
}

/// Unpredictable bytes from OpenSSL's generator.
public func randomBytes(count: Int) throws(SASLError) -> [UInt8] {
  var bytes = [UInt8](repeating: 0, count: count)
  guard let length = Int32(exactly: count), RAND_bytes(&bytes, length) == 1 else {
    throw SASLError(.libraryFailure, "OpenSSL has no random bytes")
  }
  return bytes
}
