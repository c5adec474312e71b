import COpenSSL

/// The names in a certificate's subjectAltName; the subject's CN is ignored (RFC 9525 §2).
struct CertificateNames {
  private let certificate: OpaquePointer

  init(_ certificate: OpaquePointer) { self.certificate = certificate }

  /// Whether one of the names matches the domain: a dNSName, an iPAddress, or (unless the chain has name constraints)
  /// an xmppAddr or SRVName (RFC 6120 §13.7.1.2.1, RFC 4985).
  func prove(_ configuration: TLSConfiguration, acceptXMPPNames: Bool) -> Bool {
    let domain = configuration.domain
    if IPAddress.isValid(domain) { return X509_check_ip_asc(certificate, domain, 0) == 1 }
    let flags = X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT
    // OpenSSL would interpret a length of 0 as "up to NUL", and an empty name would match every certificate.
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

  /// Up to `maximum` dNSNames in printable form.
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

  /// Whether the names are equal, ignoring the case of ASCII letters.
  private static func equal(_ name: String, _ string: UnsafePointer<ASN1_STRING>) -> Bool {
    func lower(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte | 0x20 : byte }
    return bytes(string).lazy.map(lower).elementsEqual(name.utf8.lazy.map(lower))
  }
}
