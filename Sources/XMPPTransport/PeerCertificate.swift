import COpenSSL

/// The decision whether the certificate a server shows proves the JID's domain (RFC 6120 §13.7, RFC 9525).
enum PeerCertificate {
  /// OpenSSL's callback: 1 accepts the chain of `store`, 0 refuses it.
  static func verify(_ store: OpaquePointer?) -> Int32 {
    guard
      let store, let ssl = tls_store_ctx_ssl(store), let data = SSL_get_ex_data(ssl, 0),
      let leaf = X509_STORE_CTX_get0_cert(store)
    else { return 0 }
    let engine = Unmanaged<TLSEngine>.fromOpaque(data).takeUnretainedValue()
    let configuration = engine.context.configuration
    guard let reason = objection(to: leaf, in: store, configuration) else {
      X509_STORE_CTX_set_error(store, X509_V_OK)
      return 1
    }
    if X509_STORE_CTX_get_error(store) == X509_V_OK {
      X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION)
    }
    engine.rejection = TransportError(
      .certificateRejected,
      "The certificate of \(configuration.domain) is refused: \(reason). \(CertificateDescription(leaf))")
    return 0
  }

  /// SHA-256 digest of the DER form.
  static func digest(_ certificate: OpaquePointer) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { buffer, count in
      var length: UInt32 = 0
      count = X509_digest(certificate, EVP_sha256(), buffer.baseAddress, &length) == 1 ? Int(length) : 0
    }
  }

  /// What is wrong with the certificate, in words; nil when it is accepted.
  private static func objection(
    to leaf: OpaquePointer, in store: OpaquePointer, _ configuration: TLSConfiguration
  ) -> String? {
    if let pin = configuration.pinnedCertificateSHA256 {
      return digest(leaf) == pin ? nil : "it is not the pinned one"
    }
    guard X509_verify_cert(store) == 1 else {
      let error = X509_STORE_CTX_get_error(store)
      return String(cString: X509_verify_cert_error_string(Int(error)))
    }
    let chain = X509_STORE_CTX_get0_chain(store)
    let issuers = (0..<tls_chain_count(chain)).dropFirst().compactMap { tls_chain_certificate(chain, $0) }
    // RFC 5280 §6.1.4 (k); OpenSSL lets some certificates pass that do not say that they are a CA's.
    if issuers.contains(where: { X509_get_version($0) >= 2 && X509_check_ca($0) != 1 }) {
      X509_STORE_CTX_set_error(store, X509_V_ERR_INVALID_CA)
      return "it is issued by a certificate that is no CA's"
    }
    // Name constraints on DNS names would not bind the XMPP names.
    let constrained = issuers.contains { X509_get_ext_by_NID($0, NID_name_constraints, -1) >= 0 }
    if CertificateNames(leaf).prove(configuration, acceptXMPPNames: !constrained) { return nil }
    X509_STORE_CTX_set_error(store, X509_V_ERR_HOSTNAME_MISMATCH)
    return "it is not for this domain"
  }
}

/// The names in a certificate's subjectAltName; the subject's CN is never looked at (RFC 9525 §2).
struct CertificateNames {
  private let certificate: OpaquePointer

  init(_ certificate: OpaquePointer) { self.certificate = certificate }

  /// Whether one of the names is the domain: dNSName, iPAddress, or (unless the chain has name constraints)
  /// xmppAddr and SRVName (RFC 6120 §13.7.1.2.1, RFC 4985).
  func prove(_ configuration: TLSConfiguration, acceptXMPPNames: Bool) -> Bool {
    let domain = configuration.domain
    if IPAddress.isValid(domain) { return X509_check_ip_asc(certificate, domain, 0) == 1 }
    let flags = X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT
    // A length of 0 would mean "up to NUL", an empty name would match everything.
    guard !domain.isEmpty, !domain.utf8.contains(0), domain.utf8.first != UInt8(ascii: ".") else {
      return false
    }
    if X509_check_host(certificate, domain, domain.utf8.count, UInt32(flags), nil) == 1 { return true }
    guard acceptXMPPNames else { return false }
    let addresses = [domain, configuration.unicodeDomain].compactMap(\.self)
    let services = ["_xmpp-client.\(domain)", "_xmpps-client.\(domain)"]
    return withNames { names in
      (0..<tls_general_names_count(names)).contains { index in
        tls_general_names_other(names, index, NID_XmppAddr, V_ASN1_UTF8STRING)
          .map { value in addresses.contains { Self.equal($0, value) } } ?? false
          || tls_general_names_other(names, index, NID_SRVName, V_ASN1_IA5STRING)
            .map { value in services.contains { Self.equal($0, value) } } ?? false
      }
    }
  }

  /// Up to `maximum` dNSNames, printable.
  func dnsNames(maximum: Int) -> [String] {
    withNames { names in
      (0..<tls_general_names_count(names)).lazy
        .compactMap { tls_general_names_dns(names, $0) }
        .prefix(maximum)
        .map { PrintableText.escaped(Self.bytes($0)) }
    }
  }

  private func withNames<Result>(_ body: (OpaquePointer?) -> Result) -> Result {
    let names = tls_subject_alt_names(certificate)
    defer { GENERAL_NAMES_free(names) }
    ERR_clear_error()
    return body(names)
  }

  private static func bytes(_ string: UnsafePointer<ASN1_STRING>) -> UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(start: ASN1_STRING_get0_data(string), count: max(0, Int(ASN1_STRING_length(string))))
  }

  /// Equal but for the case of ASCII letters.
  private static func equal(_ name: String, _ string: UnsafePointer<ASN1_STRING>) -> Bool {
    func lower(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte | 0x20 : byte }
    return bytes(string).lazy.map(lower).elementsEqual(name.utf8.lazy.map(lower))
  }
}

/// A certificate in one line for a person: subject, issuer, names, dates, digest. Printable ASCII of bounded length.
struct CertificateDescription: CustomStringConvertible {
  let description: String

  init(_ certificate: OpaquePointer) {
    let names = CertificateNames(certificate).dnsNames(maximum: 4).joined(separator: ", ")
    let digest = PeerCertificate.digest(certificate).map(PrintableText.hex).joined()
    description = """
      Subject: \(Self.name(X509_get_subject_name(certificate))); \
      names: \(names.isEmpty ? "none" : names); \
      issuer: \(Self.name(X509_get_issuer_name(certificate))); \
      valid from \(Self.time(X509_get0_notBefore(certificate))) \
      to \(Self.time(X509_get0_notAfter(certificate))); SHA-256: \(digest)
      """
  }

  private static func name(_ name: OpaquePointer?) -> String {
    guard let name else { return "none" }
    let text = printed { tls_print_name($0, name) }
    return text.isEmpty ? "none" : text
  }

  private static func time(_ time: UnsafePointer<ASN1_TIME>?) -> String {
    printed { ASN1_TIME_print($0, time) }
  }

  private static func printed(_ print: (OpaquePointer) -> Int32) -> String {
    guard let bio = BIO_new(BIO_s_mem()) else { return "" }
    defer { BIO_free(bio) }
    _ = print(bio)
    ERR_clear_error()
    let text = [UInt8](unsafeUninitializedCapacity: PrintableText.maximumLength + 1) { buffer, count in
      _ = BIO_read_ex(bio, buffer.baseAddress, buffer.count, &count)
    }
    return text.withUnsafeBufferPointer(PrintableText.escaped)
  }
}

/// Text from a peer, made fit for a line on a terminal.
enum PrintableText {
  static let maximumLength = 200

  /// Printable ASCII as it is, every other octet as `\xx`; cut with `...` after 200 octets.
  static func escaped(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
    var text = ""
    for byte in bytes.prefix(maximumLength) {
      if (0x20..<0x7F).contains(byte) {
        text.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        text += "\\" + hex(byte)
      }
    }
    return bytes.count > maximumLength ? text + "..." : text
  }

  static func hex(_ byte: UInt8) -> String {
    let digits = String(byte, radix: 16)
    return byte < 16 ? "0" + digits : digits
  }
}
