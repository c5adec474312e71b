import COpenSSL

/// A one-line description of a certificate for users: subject, issuer, names, dates, digest. It is printable ASCII of
/// bounded length.
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

/// Converts text from a peer for a line on a terminal.
enum PrintableText {
  static let maximumLength = 200

  /// Leaves printable ASCII unchanged, and writes other octets as `\xx`; truncated with `...` after 200 octets.
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
