import COpenSSL

/// The settings and trust anchors that several TLS connections share (an `SSL_CTX`).
public final class TLSContext: @unchecked Sendable {
  // Unchecked, because only the store of the SSL_CTX changes after `init`, and it has its own lock. Connections may be
  // created from an SSL_CTX on any thread.

  public let configuration: TLSConfiguration
  let handle: OpaquePointer
  /// Nil for OpenSSL's default file, or the one in its variable SSL_CERT_FILE.
  private let systemFile: String?
  /// The origin that a session must have to be resumed; nil if no session is resumed.
  private(set) var origin: [UInt8]?

  /// - Throws: `invalidConfiguration` if `caFile` is unreadable or has no certificate, if a pin is not 32 octets long,
  ///   if a protocol name is not 1 to 255 octets long, or if the client certificate or its key is unusable.
  public convenience init(_ configuration: TLSConfiguration) throws(TransportError) {
    try self.init(configuration, systemFile: nil)
  }

  init(_ configuration: TLSConfiguration, systemFile: String?) throws(TransportError) {
    self.configuration = configuration
    self.systemFile = systemFile
    ERR_clear_error()
    guard let handle = SSL_CTX_new(TLS_client_method()) else {
      throw TransportError(.tlsFailed, .says(.openSSLSetup, OpenSSLErrors.drain()))
    }
    self.handle = handle  // Freed by deinit, also when the rest of init throws.
    try configure()
  }

  deinit { SSL_CTX_free(handle) }

  /// The version in OpenSSL's numbering.
  var minimumVersion: Int32 {
    configuration.minimumVersion == .tls12 ? TLS1_2_VERSION : TLS1_3_VERSION
  }

  private func configure() throws(TransportError) {
    tls_ctx_set_defaults(handle)
    // Level 2 requires keys of at least 112 bits of security, and no SHA-1 in signatures.
    SSL_CTX_set_security_level(handle, 2)
    guard
      tls_ctx_set_min_version(handle, minimumVersion) == 1,
      SSL_CTX_set_cipher_list(handle, "DEFAULT:!kRSA:!PSK:!SRP:!aNULL") == 1
    else { throw TransportError(.tlsFailed, .says(.openSSLSetup, OpenSSLErrors.drain())) }
    if let pin = configuration.pinnedCertificateSHA256, pin.count != 32 {
      throw TransportError(
        .invalidConfiguration, .says(.fingerprintLength, pin.count))
    }
    try offerProtocols()
    try trust()
    try configuration.clientCertificate?.load(into: handle)
    SSL_CTX_set_verify(handle, SSL_VERIFY_PEER, nil)
    SSL_CTX_set_cert_verify_callback(handle, { store, _ in PeerCertificate.verify(store) }, nil)
    if configuration.resumesSessions {
      origin = makeOrigin()
      tls_ctx_ask_for_sessions(handle) { ssl, session in TLSEngine.received(session, on: ssl) }
    }
  }

  private func offerProtocols() throws(TransportError) {
    guard !configuration.alpn.isEmpty else { return }
    var list: [UInt8] = []
    for name in configuration.alpn {
      guard let length = UInt8(exactly: name.utf8.count), length > 0 else {
        throw TransportError(.invalidConfiguration, .says(.protocolNameLength))
      }
      list.append(length)
      list.append(contentsOf: name.utf8)
    }
    // Unlike similar functions, this one returns 0 for success.
    guard SSL_CTX_set_alpn_protos(handle, list, UInt32(list.count)) == 0 else {
      throw TransportError(.invalidConfiguration, .says(.protocolNames))
    }
  }

  private func trust() throws(TransportError) {
    guard let caFile = configuration.caFile else {
      SSL_CTX_set_default_verify_dir(handle)
      return
    }
    guard SSL_CTX_load_verify_file(handle, caFile) == 1 else {
      throw TransportError(
        .invalidConfiguration,
        .says(.unusableCAFile, caFile, OpenSSLErrors.drain()))
    }
    // Trust anchors need not be self-signed: the server's own certificate or an intermediate CA suffices.
    let parameters = SSL_CTX_get0_param(handle)
    X509_VERIFY_PARAM_set_flags(parameters, UInt(X509_V_FLAG_PARTIAL_CHAIN))
  }

  /// Adds the system's CAs from its bundle file, the second choice after the directory.
  ///
  /// Called only if the directory, which is searched by hash during the verification, has no anchor, because reading
  /// the bundle costs some 100 ms of CPU time.
  func trustSystemFile() {
    if let systemFile {
      SSL_CTX_load_verify_file(handle, systemFile)
    } else {
      SSL_CTX_set_default_verify_file(handle)
    }
    ERR_clear_error()
  }
}
