import COpenSSL

/// The server's side of a TLS connection over memory, with OpenSSL and nothing of ours.
final class MemoryTLSServer {
  private let context: OpaquePointer
  private let ssl: OpaquePointer
  private(set) var received: [UInt8] = []
  private(set) var isClosed = false

  /// - Parameters:
  ///   - choosesALPN: whether it answers ALPN with the client's first protocol, or ignores it.
  ///   - remembersSessions: whether it keeps sessions itself, rather than in tickets.
  ///   - requestsCertificate: whether it asks for a client certificate, of which any will do.
  ///   - hasSessionContext: without it, OpenSSL fails the handshake of who offers a session and has to show a certificate.
  init(
    _ certificate: TestCertificate, chain: [TestCertificate] = [],
    versions: ClosedRange<Int32> = 0x0301...0x0304,
    choosesALPN: Bool = true, hasExtendedMasterSecret: Bool = true, remembersSessions: Bool = false,
    requestsCertificate: Bool = false, hasSessionContext: Bool = true
  ) throws {
    guard let context = SSL_CTX_new(TLS_server_method()) else { throw TestCertificate.Failure() }
    self.context = context
    SSL_CTX_set_security_level(context, 0)
    tls_ctx_set_min_version(context, Int(versions.lowerBound) == 0 ? 0 : versions.lowerBound)
    SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(versions.upperBound), nil)
    SSL_CTX_set_cipher_list(context, "ALL:@SECLEVEL=0")
    SSL_CTX_use_certificate(context, certificate.x509)
    SSL_CTX_use_PrivateKey(context, certificate.key)
    if hasSessionContext { SSL_CTX_set_session_id_context(context, "tests", 5) }
    for issuer in chain {
      X509_up_ref(issuer.x509)
      SSL_CTX_ctrl(context, SSL_CTRL_EXTRA_CHAIN_CERT, 0, UnsafeMutableRawPointer(issuer.x509))
    }
    if choosesALPN {
      SSL_CTX_set_alpn_select_cb(
        context,
        { _, chosen, length, offered, _, _ in
          guard let offered else { return SSL_TLSEXT_ERR_NOACK }
          chosen?.pointee = offered + 1
          length?.pointee = offered[0]
          return SSL_TLSEXT_ERR_OK
        }, nil)
    }
    // SSL_OP_NO_EXTENDED_MASTER_SECRET, SSL_OP_NO_TICKET
    if !hasExtendedMasterSecret { SSL_CTX_set_options(context, 1) }
    if remembersSessions { SSL_CTX_set_options(context, 1 << 14) }
    if requestsCertificate { SSL_CTX_set_verify(context, SSL_VERIFY_PEER) { _, _ in 1 } }
    ssl = try Self.makeConnection(context)
  }

  /// The same server for another connection: it knows the sessions it gave.
  init(again server: MemoryTLSServer) throws {
    context = server.context
    SSL_CTX_up_ref(context)
    ssl = try Self.makeConnection(context)
  }

  private static func makeConnection(_ context: OpaquePointer) throws -> OpaquePointer {
    guard let ssl = SSL_new(context) else { throw TestCertificate.Failure() }
    SSL_set_bio(ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()))
    SSL_set_accept_state(ssl)
    return ssl
  }

  deinit {
    SSL_free(ssl)
    SSL_CTX_free(context)
  }

  var isResumed: Bool { SSL_session_reused(ssl) == 1 }

  var clientCertificateSHA256: [UInt8]? {
    SSL_get0_peer_certificate(ssl).map(TestCertificate.sha256)
  }

  /// By TLS 1.3's exporter as OpenSSL has it.
  var exporter: [UInt8] {
    let label = "EXPORTER-Channel-Binding"
    var value = [UInt8](repeating: 0, count: 32)
    SSL_export_keying_material(ssl, &value, 32, label, label.utf8.count, nil, 0, 0)
    return value
  }

  /// By TLS 1.2's PRF, written out (RFC 5246 §5, RFC 5705 §4): one block is enough.
  var exporter12: [UInt8] {
    var random = [UInt8](repeating: 0, count: 64)
    SSL_get_client_random(ssl, &random, 32)
    random.withUnsafeMutableBufferPointer {
      _ = SSL_get_server_random(ssl, $0.baseAddress.map { $0 + 32 }, 32)
    }
    var secret = [UInt8](repeating: 0, count: 48)
    SSL_SESSION_get_master_key(SSL_get_session(ssl), &secret, 48)
    let seed = Array("EXPORTER-Channel-Binding".utf8) + random + [0, 0]
    func hmac(_ text: [UInt8]) -> [UInt8] {
      var value = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
      var length: UInt32 = 0
      let hash = SSL_CIPHER_get_handshake_digest(SSL_get_current_cipher(ssl))
      HMAC(hash, secret, 48, text, text.count, &value, &length)
      return Array(value.prefix(Int(length)))
    }
    return Array(hmac(hmac(seed) + seed).prefix(32))
  }

  /// The server's and the client's Finished messages.
  var finished: (own: [UInt8], client: [UInt8]) {
    var own = [UInt8](repeating: 0, count: 64)
    var client = own
    let lengths = (SSL_get_finished(ssl, &own, 64), SSL_get_peer_finished(ssl, &client, 64))
    return (Array(own.prefix(lengths.0)), Array(client.prefix(lengths.1)))
  }

  var serverName: String? {
    SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name).map { String(cString: $0) }
  }

  func receive(_ bytes: [UInt8]) {
    ERR_clear_error()
    BIO_write(SSL_get_rbio(ssl), bytes, Int32(bytes.count))
    var buffer = [UInt8](repeating: 0, count: 20_000)
    while true {
      let count = SSL_read(ssl, &buffer, Int32(buffer.count))
      guard count > 0 else {
        if SSL_get_error(ssl, count) == SSL_ERROR_ZERO_RETURN { isClosed = true }
        break
      }
      received += buffer.prefix(Int(count))
    }
    ERR_clear_error()
  }

  func write(_ bytes: [UInt8]) { SSL_write(ssl, bytes, Int32(bytes.count)) }

  func close() { SSL_shutdown(ssl) }

  func renegotiate() -> Bool {
    defer { ERR_clear_error() }
    return SSL_renegotiate(ssl) == 1 && SSL_do_handshake(ssl) == 1
  }

  func take() -> [UInt8] {
    var buffer = [UInt8](repeating: 0, count: tls_bio_pending(SSL_get_wbio(ssl)))
    if !buffer.isEmpty { BIO_read(SSL_get_wbio(ssl), &buffer, Int32(buffer.count)) }
    return buffer
  }
}
