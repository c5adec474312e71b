import COpenSSL
import Glibc
import NIOCore

/// The client side of a TLS connection in memory; does no I/O.
///
/// `receive` accepts ciphertext from the peer, and `drainCiphertext` returns ciphertext for the peer. Call the latter
/// after every other call, even if that threw an error, since there may be an alert to send. Not thread-safe.
public final class TLSEngine {
  /// The result of a read.
  public enum ReadResult: Sendable {
    /// All complete records were read.
    case needsMore
    /// The peer has ended its data (close_notify, RFC 8446 §6.1).
    case closed
  }

  /// The result of the handshake; nil until it is complete.
  public private(set) var info: TLSInfo?

  /// Why the verification callback refused the peer's certificate.
  var rejection: TransportError?

  let context: TLSContext
  private let ssl: OpaquePointer
  private var failure: TransportError?
  private var session: TLSSession?
  /// When the certificate of the offered session was verified.
  private var offeredVerified: Int?

  /// The maximum capacity of an empty buffer that is kept. Larger ones are replaced, so that idle connections need
  /// little memory.
  private static let idleCapacity = 512
  /// The maximum number of plaintext octets in a TLS record (RFC 8446 §5.1).
  package static let maximumRecord = 16_384

  /// - Parameter session: An earlier session to resume. It is ignored if it does not match, or if the server no longer
  ///   knows it; the handshake is then a full one. Some servers fail the handshake instead (OpenSSL with client
  ///   certificates and without a session id context); try again without a session then.
  public init(_ context: TLSContext, resuming session: TLSSession? = nil) throws(TransportError) {
    self.context = context
    ERR_clear_error()
    guard let ssl = SSL_new(context.handle) else {
      throw TransportError(.tlsFailed, .says(.openSSLSetup, OpenSSLErrors.drain()))
    }
    self.ssl = ssl
    let incoming = BIO_new(BIO_s_mem())
    let outgoing = BIO_new(BIO_s_mem())
    guard let incoming, let outgoing else {
      BIO_free(incoming)
      BIO_free(outgoing)
      throw TransportError(.tlsFailed, .says(.openSSLSetup, OpenSSLErrors.drain()))
    }
    SSL_set_bio(ssl, incoming, outgoing)  // Takes ownership of both.
    SSL_set_connect_state(ssl)
    SSL_set_ex_data(ssl, 0, Unmanaged.passUnretained(self).toOpaque())
    let domain = context.configuration.domain
    // SNI is for names only (RFC 6066 §3).
    if !IPAddress.isValid(domain), tls_set_server_name(ssl, domain) != 1 {
      throw TransportError(
        .invalidConfiguration, .says(.unusableDomain, OpenSSLErrors.drain()))
    }
    if let session, session.offer(on: ssl, context) { offeredVerified = session.verified }
    ERR_clear_error()
  }

  deinit { SSL_free(ssl) }

  /// Accepts octets from the peer, which `handshake` or `read` process.
  ///
  /// Pass pieces of some kilobytes and process each one, to keep the buffers small.
  public func receive(_ ciphertext: UnsafeRawBufferPointer) throws(TransportError) {
    if let failure { throw failure }
    guard !ciphertext.isEmpty else { return }
    ERR_clear_error()
    var written = 0
    guard
      BIO_write_ex(SSL_get_rbio(ssl), ciphertext.baseAddress, ciphertext.count, &written) == 1,
      written == ciphertext.count
    else { throw fail(TransportError(.tlsFailed, .says(.openSSLMemory))) }
  }

  /// Continues the handshake. Returns whether it is complete.
  ///
  /// - Throws: `certificateRejected`, `tlsFailed`.
  public func handshake() throws(TransportError) -> Bool {
    if let failure { throw failure }
    if info != nil { return true }
    ERR_clear_error()
    let result = SSL_do_handshake(ssl)
    guard result == 1 else {
      let error = SSL_get_error(ssl, result)
      if error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE { return false }
      throw fail(handshakeFailure(error))
    }
    info = TLSInfo(ssl)
    // With TLS 1.3, sessions arrive later.
    if SSL_version(ssl) < TLS1_3_VERSION { store(SSL_get_session(ssl)) }
    return true
  }

  /// Appends the decrypted data from the peer to `buffer`.
  ///
  /// - Throws: `tlsFailed` for a damaged record or a fatal alert from the peer; `tlsClosed` before the handshake is
  ///   complete.
  public func read(into buffer: inout ByteBuffer) throws(TransportError) -> ReadResult {
    if let failure { throw failure }
    guard info != nil else { throw TransportError(.tlsClosed, .says(.handshakeIncomplete)) }
    while true {
      ERR_clear_error()
      var result: Int32 = 0
      let room = min(max(tls_bio_pending(SSL_get_rbio(ssl)), Int(SSL_pending(ssl)), 256), Self.maximumRecord)
      buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: room) { bytes in
        var count = 0
        result = SSL_read_ex(ssl, bytes.baseAddress, bytes.count, &count)
        return result == 1 ? count : 0
      }
      if result == 1 { continue }
      switch SSL_get_error(ssl, result) {
      case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE:
        shrinkIncoming()
        return .needsMore
      case SSL_ERROR_ZERO_RETURN: return .closed
      default: throw fail(TransportError(.tlsFailed, .says(.tlsFailed, OpenSSLErrors.drain())))
      }
    }
  }

  /// Encrypts data for the peer.
  ///
  /// - Throws: `tlsClosed` before the handshake is complete and after `close`; `tlsFailed`.
  public func write(_ plaintext: UnsafeRawBufferPointer) throws(TransportError) {
    if let failure { throw failure }
    guard info != nil, SSL_get_shutdown(ssl) & SSL_SENT_SHUTDOWN == 0 else {
      throw TransportError(.tlsClosed, .says(.tlsNotOpen))
    }
    guard !plaintext.isEmpty else { return }
    ERR_clear_error()
    var written = 0
    guard SSL_write_ex(ssl, plaintext.baseAddress, plaintext.count, &written) == 1, written == plaintext.count
    else { throw fail(TransportError(.tlsFailed, .says(.tlsFailed, OpenSSLErrors.drain()))) }
  }

  /// Tells the peer that no more data follows (close_notify); reading remains possible. Does nothing before the
  /// handshake is complete.
  public func close() {
    guard failure == nil, info != nil, SSL_get_shutdown(ssl) & SSL_SENT_SHUTDOWN == 0 else { return }
    ERR_clear_error()
    _ = SSL_shutdown(ssl)
    ERR_clear_error()
  }

  /// Appends the ciphertext for the peer to `buffer`.
  public func drainCiphertext(into buffer: inout ByteBuffer) {
    guard let outgoing = SSL_get_wbio(ssl) else { return }
    while case let pending = tls_bio_pending(outgoing), pending > 0 {
      let moved = buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: pending) { bytes in
        var count = 0
        return BIO_read_ex(outgoing, bytes.baseAddress, min(bytes.count, pending), &count) == 1 ? count : 0
      }
      guard moved > 0 else { break }
    }
    if tls_bio_capacity(outgoing) > Self.idleCapacity, let fresh = BIO_new(BIO_s_mem()) {
      SSL_set0_wbio(ssl, fresh)
    }
  }

  /// The newest session from the server since the last call, for another connection to resume.
  ///
  /// Call this after `handshake` and `read`. It is always nil if the configuration does not resume sessions.
  public func popSession() -> TLSSession? {
    defer { session = nil }
    return session
  }

  /// OpenSSL's callback. Returns 0, so that OpenSSL keeps its reference to the session.
  static func received(_ session: OpaquePointer?, on ssl: OpaquePointer?) -> Int32 {
    guard let ssl, SSL_version(ssl) >= TLS1_3_VERSION, let data = SSL_get_ex_data(ssl, 0) else { return 0 }
    Unmanaged<TLSEngine>.fromOpaque(data).takeUnretainedValue().store(session)
    return 0
  }

  private func store(_ session: OpaquePointer?) {
    guard let session, let origin = context.origin else { return }
    let verified = SSL_session_reused(ssl) == 1 ? offeredVerified : time(nil)
    guard let verified else { return }
    self.session = TLSSession(session, of: ssl, origin: origin, verified: verified) ?? self.session
  }

  private func shrinkIncoming() {
    guard let incoming = SSL_get_rbio(ssl), tls_bio_pending(incoming) == 0 else { return }
    if tls_bio_capacity(incoming) > Self.idleCapacity, let fresh = BIO_new(BIO_s_mem()) {
      SSL_set0_rbio(ssl, fresh)
    }
  }

  private func fail(_ error: TransportError) -> TransportError {
    failure = error
    return error
  }

  private func handshakeFailure(_ error: Int32) -> TransportError {
    if let rejection {
      ERR_clear_error()
      return rejection
    }
    let code = ERR_peek_error()
    let reason = OpenSSLErrors.drain()
    if ERR_GET_LIB(code) == ERR_LIB_SSL {
      switch ERR_GET_REASON(code) {
      case SSL_R_WRONG_VERSION_NUMBER, SSL_R_HTTP_REQUEST, SSL_R_HTTPS_PROXY_REQUEST:
        return TransportError(.tlsFailed, .says(.noTLS))
      case SSL_R_UNSUPPORTED_PROTOCOL, SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
        return TransportError(.tlsFailed, .says(.oldTLS, reason))
      default: break
      }
    }
    return TransportError(.tlsFailed, .says(.handshakeFailed, reason))
  }
}
