import COpenSSL

/// The result of a completed TLS handshake.
public struct TLSInfo: Sendable, Hashable {
  /// The version in OpenSSL's spelling, such as `TLSv1.3`.
  public var version: String
  /// The cipher in OpenSSL's spelling, such as `TLS_AES_256_GCM_SHA384`.
  public var cipher: String
  /// The protocol that the server chose with ALPN; nil if it chose none.
  public var alpn: String?
  /// The SHA-256 digest (32 octets) of the server's certificate in DER form; in a resumed session, that of the original
  /// handshake.
  public var peerCertificateSHA256: [UInt8]
  public var channelBindings = TLSChannelBindings()
  /// Whether the handshake resumed an earlier session (RFC 8446 §2.2).
  public var isResumed = false

  public init(version: String, cipher: String, alpn: String? = nil, peerCertificateSHA256: [UInt8]) {
    self.version = version
    self.cipher = cipher
    self.alpn = alpn
    self.peerCertificateSHA256 = peerCertificateSHA256
  }

  /// - Parameter ssl: An `SSL` whose handshake is complete.
  init(_ ssl: OpaquePointer) {
    var selected: UnsafePointer<UInt8>?
    var length: UInt32 = 0
    SSL_get0_alpn_selected(ssl, &selected, &length)
    alpn = selected.map {
      String(decoding: UnsafeBufferPointer(start: $0, count: Int(length)), as: UTF8.self)
    }
    version = String(cString: SSL_get_version(ssl))
    cipher = SSL_CIPHER_get_name(SSL_get_current_cipher(ssl)).map { String(cString: $0) } ?? ""
    peerCertificateSHA256 = SSL_get0_peer_certificate(ssl).map(PeerCertificate.digest) ?? []
    channelBindings = TLSChannelBindings(ssl)
    isResumed = SSL_session_reused(ssl) == 1
  }
}
