import COpenSSL

/// The server's side of a TLS connection over memory, with OpenSSL and nothing of ours.
final class MemoryTLSServer {
  private let context: OpaquePointer
  private let ssl: OpaquePointer
  private(set) var received: [UInt8] = []
  private(set) var isClosed = false

  /// - Parameter choosesALPN: whether it answers ALPN with the client's first protocol, or ignores it.
  init(
    _ certificate: TestCertificate, chain: [TestCertificate] = [],
    versions: ClosedRange<Int32> = 0x0301...0x0304,
    choosesALPN: Bool = true
  ) throws {
    guard let context = SSL_CTX_new(TLS_server_method()),
      let ssl = { () -> OpaquePointer? in
        SSL_CTX_set_security_level(context, 0)
        tls_ctx_set_min_version(context, Int(versions.lowerBound) == 0 ? 0 : versions.lowerBound)
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(versions.upperBound), nil)
        SSL_CTX_set_cipher_list(context, "ALL:@SECLEVEL=0")
        SSL_CTX_use_certificate(context, certificate.x509)
        SSL_CTX_use_PrivateKey(context, certificate.key)
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
        return SSL_new(context)
      }()
    else { throw TestCertificate.Failure() }
    self.context = context
    self.ssl = ssl
    SSL_set_bio(ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()))
    SSL_set_accept_state(ssl)
  }

  deinit {
    SSL_free(ssl)
    SSL_CTX_free(context)
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
