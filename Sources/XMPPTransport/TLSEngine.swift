import COpenSSL
import Glibc
import NIOCore

/// The client side of one TLS connection over memory; does no I/O.
///
/// Ciphertext from the peer goes in by `receive`, ciphertext for the peer comes out by `takeCiphertext`; after every
/// other call look there for something to send, even after one that threw (an alert). Not for use by several threads.
public final class TLSEngine {
  /// What became of a wish to read.
  public enum ReadResult: Sendable {
    /// Everything that had arrived in whole records was read.
    case needsMore
    /// The peer said that nothing follows (close_notify, RFC 8446 §6.1).
    case closed
  }

  /// What the handshake agreed on; nil until it is complete.
  public private(set) var info: TLSInfo?

  /// Why the peer's certificate was refused, told by the verification callback.
  var rejection: TransportError?

  let context: TLSContext
  private let ssl: OpaquePointer
  private var failure: TransportError?
  private var session: TLSSession?
  /// When the certificate of the session that is offered was verified.
  private var offeredVerified: Int?

  /// Buffers above this size are replaced when empty: an idle connection holds little memory.
  private static let idleCapacity = 512
  /// Bytes of plaintext that fit into one TLS record (RFC 8446 §5.1).
  package static let maximumRecord = 16_384

  /// - Parameter session: an earlier one to be resumed; ignored where it does not fit, and where the server does not
  ///   know it any more: the handshake is a full one then. But servers exist that fail the handshake instead (OpenSSL
  ///   that asks for client certificates and was given no session id context): then try without.
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

  /// Takes bytes from the peer, to be digested by `handshake` or `read`.
  ///
  /// Give it pieces of some kilobytes and digest each one, and buffers stay small.
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

  /// Goes on with the handshake, and says whether it is complete.
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
    // Under TLS 1.3 they come later, on their own.
    if SSL_version(ssl) < TLS1_3_VERSION { store(SSL_get_session(ssl)) }
    return true
  }

  /// Appends what the peer sent to `buffer`.
  ///
  /// - Throws: `tlsFailed` when a record is damaged or the peer sends a fatal alert, `tlsClosed` before the handshake.
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

  /// Encrypts what is to be sent.
  ///
  /// - Throws: `tlsClosed` before the handshake and after `close`, `tlsFailed`.
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

  /// Says to the peer that nothing follows (close_notify); reading goes on. Does nothing before the handshake.
  public func close() {
    guard failure == nil, info != nil, SSL_get_shutdown(ssl) & SSL_SENT_SHUTDOWN == 0 else { return }
    ERR_clear_error()
    _ = SSL_shutdown(ssl)
    ERR_clear_error()
  }

  /// Moves what is to be sent to the end of `buffer`.
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

  /// The newest session that the server has given since the last call, for another connection to resume.
  ///
  /// Look here after `handshake` and `read`; always nil where the configuration does not ask for sessions.
  public func popSession() -> TLSSession? {
    defer { session = nil }
    return session
  }

  /// OpenSSL's callback: 0, the session remains its own.
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
