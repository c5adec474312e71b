import COpenSSL
import Glibc

/// A TLS session that a later connection can resume (RFC 8446 §2.2, RFC 5077).
///
/// A session is secret: its owner can impersonate the server in the resumed connection. Offer each session only once,
/// since an eavesdropper can link connections that offer the same one (RFC 8446 §C.4). A resumed connection issues a
/// new session.
public struct TLSSession: Sendable, Hashable {
  /// The maximum length of `serialized` in octets; longer sessions are neither issued nor accepted.
  public static let maximumSize = 16_384
  /// The seconds after which the certificate must be verified again, however often the session was resumed.
  static let lifetime = 7 * 86_400

  /// A digest of the settings and certificates of the original connection. The session is resumed only if they are
  /// equal.
  let origin: [UInt8]
  /// When the server's certificate was verified, in seconds since 1970.
  let verified: Int
  /// The session in OpenSSL's DER form.
  private let state: [UInt8]

  /// The form for storage: a version octet, the origin (32 octets), the time of verification (8 octets), the DER form.
  public var serialized: [UInt8] {
    [1] + origin + Self.octets(verified) + state
  }

  /// - Returns: nil for octets that do not have the form of `serialized`.
  public init?(serialized: [UInt8]) {
    guard (42...Self.maximumSize).contains(serialized.count), serialized[0] == 1 else { return nil }
    origin = Array(serialized[1..<33])
    verified = Int(bitPattern: serialized[33..<41].reduce(0) { $0 << 8 | UInt($1) })
    state = Array(serialized[41...])
  }

  /// Returns nil if the session cannot be resumed, is too large, or lacks the extended master secret (RFC 7627 §5.3).
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

  /// Makes `ssl` offer the session if its origin matches `context` and its certificate is still valid. Returns whether
  /// it does.
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
  /// A digest of the settings and certificates that a resumed session must share.
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
