import COpenSSL
import Glibc

/// The certificate and the key with which a client authenticates, as PEM files.
public struct ClientCertificate: Sendable, Hashable {
  /// A file with the client's own certificate, followed by those that lead to its CA.
  public var chainFile: String
  /// A file with the unencrypted private key, which only its owner may be able to read. It may be the same file.
  public var keyFile: String

  public init(chainFile: String, keyFile: String) {
    self.chainFile = chainFile
    self.keyFile = keyFile
  }

  /// Makes connections of `context` present the certificate to servers that request one.
  ///
  /// - Throws: `invalidConfiguration`.
  func load(into context: OpaquePointer) throws(TransportError) {
    try loadChain(into: context)
    let key = try readKey()
    defer { EVP_PKEY_free(key) }
    guard X509_check_private_key(SSL_CTX_get0_certificate(context), key) == 1 else {
      ERR_clear_error()
      throw TransportError(
        .invalidConfiguration,
        .says(.otherKey, keyFile, chainFile))
    }
    guard SSL_CTX_use_PrivateKey(context, key) == 1 else {
      throw TransportError(
        .invalidConfiguration,
        .says(.unusableKey, keyFile, OpenSSLErrors.drain()))
    }
  }

  private func loadChain(into context: OpaquePointer) throws(TransportError) {
    fclose(try Self.open(chainFile, orElse: .unreadableCertificate))
    ERR_clear_error()
    guard SSL_CTX_use_certificate_chain_file(context, chainFile) != 1 else { return }
    let code = ERR_peek_error()
    let reason = OpenSSLErrors.drain()
    throw TransportError(
      .invalidConfiguration,
      ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE
        ? .says(.noCertificate, chainFile)
        : .says(.unusableCertificate, chainFile, reason))
  }

  /// - Returns: An `EVP_PKEY`, which the caller must free.
  private func readKey() throws(TransportError) -> OpaquePointer {
    let file = try Self.open(keyFile, orElse: .unreadableKey)
    defer { fclose(file) }
    var status = stat()
    // As with ssh, a key that belongs to another user, such as root, may be readable by a group.
    guard
      fstat(fileno(file), &status) == 0,
      status.st_mode & (status.st_uid == geteuid() ? 0o077 : 0o007) == 0
    else {
      throw TransportError(
        .invalidConfiguration,
        .says(.readableKey, keyFile))
    }
    var isEncrypted = false
    let key = PEM_read_PrivateKey(
      file, nil,
      { _, _, _, asked in
        asked?.assumingMemoryBound(to: Bool.self).pointee = true
        return -1
      }, &isEncrypted)
    ERR_clear_error()
    if let key { return key }
    throw TransportError(
      .invalidConfiguration,
      isEncrypted
        ? .says(.encryptedKey, keyFile)
        : .says(.noKey, keyFile))
  }

  /// Opens a regular file; other kinds of files could block, or have no end.
  private static func open(
    _ path: String, orElse sentence: TransportError.Sentence
  ) throws(TransportError) -> UnsafeMutablePointer<FILE> {
    let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    var reason = ErrorReason(text: String(cString: strerror(errno)))
    if descriptor >= 0 {
      var status = stat()
      if fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
        let file = fdopen(descriptor, "r")
      {
        return file
      }
      close(descriptor)
      reason = .says(.notRegularFile)
    }
    throw TransportError(.invalidConfiguration, ErrorReason(sentence, of: [path, reason]))
  }
}
