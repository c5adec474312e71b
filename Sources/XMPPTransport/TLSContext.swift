import COpenSSL
import Glibc

/// The part of TLS that connections of one account share: settings and trust anchors (an `SSL_CTX`).
///
/// Make one per account and keep it across reconnects.
public final class TLSContext: @unchecked Sendable {
  // Unchecked: the SSL_CTX is changed only in `init`; making connections from it is safe on any thread.

  public let configuration: TLSConfiguration
  let handle: OpaquePointer

  /// - Throws: `invalidConfiguration`, when `caFile` cannot be read or holds no certificate, a pin is not 32 octets,
  ///   or a protocol name is not 1 to 255 octets.
  public init(_ configuration: TLSConfiguration) throws(TransportError) {
    self.configuration = configuration
    ERR_clear_error()
    guard let handle = SSL_CTX_new(TLS_client_method()) else {
      throw TransportError(.tlsFailed, "OpenSSL cannot be set up: \(OpenSSLErrors.take())")
    }
    self.handle = handle  // Freed by deinit, also when the rest of init throws.
    try configure()
  }

  deinit { SSL_CTX_free(handle) }

  private func configure() throws(TransportError) {
    tls_ctx_set_defaults(handle)
    let version = configuration.minimumVersion == .tls12 ? TLS1_2_VERSION : TLS1_3_VERSION
    // Level 2: keys of at least 112 bits of security, no SHA-1 in signatures.
    SSL_CTX_set_security_level(handle, 2)
    guard
      tls_ctx_set_min_version(handle, version) == 1,
      SSL_CTX_set_cipher_list(handle, "DEFAULT:!kRSA:!PSK:!SRP:!aNULL") == 1
    else { throw TransportError(.tlsFailed, "OpenSSL cannot be set up: \(OpenSSLErrors.take())") }
    if let pin = configuration.pinnedCertificateSHA256, pin.count != 32 {
      throw TransportError(
        .invalidConfiguration, "A SHA-256 digest has 32 octets, the pinned one has \(pin.count).")
    }
    try offerProtocols()
    try trust()
    SSL_CTX_set_verify(handle, SSL_VERIFY_PEER, nil)
    SSL_CTX_set_cert_verify_callback(handle, { store, _ in PeerCertificate.verify(store) }, nil)
  }

  private func offerProtocols() throws(TransportError) {
    guard !configuration.alpn.isEmpty else { return }
    var list: [UInt8] = []
    for name in configuration.alpn {
      guard let length = UInt8(exactly: name.utf8.count), length > 0 else {
        throw TransportError(.invalidConfiguration, "An ALPN protocol name has 1 to 255 octets.")
      }
      list.append(length)
      list.append(contentsOf: name.utf8)
    }
    // Unlike its neighbours, this function returns 0 for success.
    guard SSL_CTX_set_alpn_protos(handle, list, UInt32(list.count)) == 0 else {
      throw TransportError(.invalidConfiguration, "The ALPN protocol names cannot be used.")
    }
  }

  private func trust() throws(TransportError) {
    guard let caFile = configuration.caFile else {
      trustSystem()
      return
    }
    guard SSL_CTX_load_verify_file(handle, caFile) == 1 else {
      throw TransportError(
        .invalidConfiguration,
        "No certificate can be read from the CA file \(caFile): \(OpenSSLErrors.take())")
    }
    // Anchors need not be self-signed: the server's own certificate or an intermediate CA will do.
    let parameters = SSL_CTX_get0_param(handle)
    X509_VERIFY_PARAM_set_flags(parameters, UInt(X509_V_FLAG_PARTIAL_CHAIN))
  }

  /// Trusts the system's CAs, looked up by hash in its directory while a chain is checked.
  ///
  /// Reading the bundle file instead costs some 100 ms of CPU, so that is done only where there is no such directory,
  /// or where the user names a file by OpenSSL's variable SSL_CERT_FILE.
  private func trustSystem() {
    SSL_CTX_set_default_verify_dir(handle)
    let named = X509_get_default_cert_file_env().flatMap { getenv($0) } != nil
    if named || !SystemTrust.hasHashedDirectory() { SSL_CTX_set_default_verify_file(handle) }
    ERR_clear_error()
  }
}

/// The directory of trusted CAs that OpenSSL was built for.
enum SystemTrust {
  /// Whether the directory has at least one entry named `<hash>.0`, as `openssl rehash` makes them.
  static func hasHashedDirectory() -> Bool {
    let named = X509_get_default_cert_dir_env().flatMap { getenv($0) }
    guard let path = named ?? X509_get_default_cert_dir().map({ UnsafeMutablePointer(mutating: $0) }) else {
      return false
    }
    // A list of several directories is the user's own choice.
    if named != nil { return true }
    guard let directory = opendir(path) else { return false }
    defer { closedir(directory) }
    while let entry = readdir(directory) {
      let isHashed = withUnsafeBytes(of: &entry.pointee.d_name) { name in
        name.count > 10 && name[8] == UInt8(ascii: ".") && name[9] == UInt8(ascii: "0") && name[10] == 0
      }
      if isHashed { return true }
    }
    return false
  }
}

/// The calling thread's queue of OpenSSL errors.
///
/// Whoever calls OpenSSL clears the queue before, so that no old error is taken for a new one, and takes it after.
enum OpenSSLErrors {
  /// Empties the queue and tells its first error, the cause of the others.
  static func take() -> String {
    let code = ERR_get_error()
    ERR_clear_error()
    guard code != 0 else { return "unknown error" }
    if let reason = ERR_reason_error_string(code) { return String(cString: reason) }
    // System errors have no reason string: they hold an errno.
    let number = ERR_GET_REASON(code)
    return strerror(number).map { String(cString: $0) } ?? "error \(code)"
  }
}
