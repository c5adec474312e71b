import COpenSSL
import Glibc

/// What a later connection needs to resume a TLS session (RFC 8446 §2.2, RFC 5077).
///
/// It is a secret: who has it can take the server's part in the connection that resumes it. Offer each one once, since
/// who listens can tell that two connections offer the same (RFC 8446 §C.4); a resumed session gives a new one.
public struct TLSSession: Sendable, Hashable {
  /// Octets of `serialized` at most; longer ones are never given nor taken.
  public static let maximumSize = 16_384
  /// Seconds after which the certificate must be shown again, however often the session was resumed.
  static let lifetime = 7 * 86_400

  /// A digest of what the server had to prove, and of what the client showed: only where all is equal it is resumed.
  let origin: [UInt8]
  /// When the server's certificate was verified, in seconds since 1970.
  let verified: Int
  /// In OpenSSL's DER form.
  private let state: [UInt8]

  /// The form to keep: an octet for its version, the origin (32), the time of verification (8), the state.
  public var serialized: [UInt8] {
    [1] + origin + Self.octets(verified) + state
  }

  /// - Returns: nil for what is not of the form of `serialized`.
  public init?(serialized: [UInt8]) {
    guard (42...Self.maximumSize).contains(serialized.count), serialized[0] == 1 else { return nil }
    origin = Array(serialized[1..<33])
    verified = Int(bitPattern: serialized[33..<41].reduce(0) { $0 << 8 | UInt($1) })
    state = Array(serialized[41...])
  }

  /// nil where the session cannot be resumed, is too large, or lacks the extended master secret (RFC 7627 §5.3).
  init?(_ session: OpaquePointer, of ssl: OpaquePointer, origin: [UInt8], verified: Int) {
    guard
      SSL_SESSION_is_resumable(session) == 1,
      SSL_version(ssl) >= TLS1_3_VERSION || tls_has_extended_master_secret(ssl) == 1,
      case let length = Int(i2d_SSL_SESSION(session, nil)), (1...Self.maximumSize - 41).contains(length)
    else { return nil }
    state = [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
      var end = buffer.baseAddress
      count = max(Int(i2d_SSL_SESSION(session, &end)), 0)
    }
    self.origin = origin
    self.verified = verified
  }

  /// Has `ssl` offer the session, if what it proved is what `context` asks for and still holds.
  func offer(on ssl: OpaquePointer, _ context: TLSContext) -> Bool {
    let now = time(nil)
    guard origin == context.origin, verified <= now, verified > now - Self.lifetime else { return false }
    return state.withUnsafeBufferPointer { bytes in
      var start = bytes.baseAddress
      guard let session = d2i_SSL_SESSION(nil, &start, bytes.count) else { return false }
      defer { SSL_SESSION_free(session) }
      guard
        SSL_SESSION_get_protocol_version(session) >= context.minimumVersion,
        let certificate = SSL_SESSION_get0_peer(session),
        PeerCertificate.isStillAccepted(certificate, context.configuration)
      else { return false }
      return SSL_set_session(ssl, session) == 1
    }
  }

  fileprivate static func octets(_ number: Int) -> [UInt8] {
    (0..<8).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
  }
}

extension TLSSession: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  public var description: String { "<secret>" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: []) }
}

extension TLSContext {
  /// A digest of what connections must prove and of what they show, for sessions to carry.
  func makeOrigin() -> [UInt8] {
    var parts: [[UInt8]?] = [
      Array(configuration.domain.utf8), configuration.unicodeDomain.map { Array($0.utf8) },
      configuration.pinnedCertificateSHA256, SSL_CTX_get0_certificate(handle).map(PeerCertificate.digest),
    ]
    if configuration.caFile != nil {
      let store = SSL_CTX_get_cert_store(handle)
      parts += (0..<tls_store_count(store)).map {
        tls_store_certificate(store, $0).map(PeerCertificate.digest)
      }
    }
    let text = parts.flatMap { part in TLSSession.octets(part?.count ?? -1) + (part ?? []) }
    return [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { buffer, count in
      var length: UInt32 = 0
      EVP_Digest(text, text.count, buffer.baseAddress, &length, EVP_sha256(), nil)
      count = Int(length)
    }
  }
}
