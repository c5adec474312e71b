import COpenSSL

/// The channel bindings of a TLS connection, which protect an authentication against relaying (RFC 5056).
public struct TLSChannelBindings: Sendable, Hashable {
  /// `tls-exporter` (RFC 9266), 32 octets. Only if it is safe: with TLS 1.3, or 1.2 with extended master secret.
  public var exporter: [UInt8]?
  /// `tls-unique` (RFC 5929 §3). Only with TLS 1.2 with extended master secret (RFC 7627).
  public var unique: [UInt8]?
  /// `tls-server-end-point` (RFC 5929 §4): a digest of the server's certificate.
  ///
  /// Nil for a signature algorithm without a digest (Ed25519), for which RFC 5929 defines no binding.
  public var serverEndPoint: [UInt8]?

  public init() {}

  /// - Parameter ssl: A client's `SSL` whose handshake is complete.
  init(_ ssl: OpaquePointer) {
    let isTLS13 = SSL_version(ssl) >= TLS1_3_VERSION
    // Without the extension, an attacker can make two connections share their secret (RFC 7627 §1).
    let isDistinct = isTLS13 || tls_has_extended_master_secret(ssl) == 1
    if isDistinct { exporter = Self.exporter(of: ssl) }
    if isDistinct, !isTLS13 { unique = Self.firstFinished(of: ssl) }
    serverEndPoint = SSL_get0_peer_certificate(ssl).flatMap(Self.serverEndPoint)
    ERR_clear_error()
  }

  private static func exporter(of ssl: OpaquePointer) -> [UInt8]? {
    let label = "EXPORTER-Channel-Binding"
    var value = [UInt8](repeating: 0, count: 32)
    // TLS 1.2 distinguishes an empty context, as required here, from no context (RFC 5705 §4).
    let result = SSL_export_keying_material(ssl, &value, value.count, label, label.utf8.count, [], 0, 1)
    return result == 1 ? value : nil
  }

  /// The first Finished message: the client's in a full handshake, the server's in a resumed one.
  private static func firstFinished(of ssl: OpaquePointer) -> [UInt8]? {
    let isResumed = SSL_session_reused(ssl) == 1
    let value = [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { buffer, count in
      let length =
        isResumed
        ? SSL_get_peer_finished(ssl, buffer.baseAddress, buffer.count)
        : SSL_get_finished(ssl, buffer.baseAddress, buffer.count)
      count = min(length, buffer.count)
    }
    return value.isEmpty ? nil : value
  }

  /// The certificate's digest, with the hash of its signature, or SHA-256 in place of MD5 and SHA-1 (RFC 5929 §4.1).
  static func serverEndPoint(_ certificate: OpaquePointer) -> [UInt8]? {
    var name: Int32 = NID_undef
    guard X509_get_signature_info(certificate, &name, nil, nil, nil) == 1, name != NID_undef else {
      return nil
    }
    if name == NID_md5 || name == NID_sha1 { name = NID_sha256 }
    guard let digest = EVP_get_digestbyname(OBJ_nid2sn(name)) else { return nil }
    return PeerCertificate.digest(certificate, digest)
  }
}
