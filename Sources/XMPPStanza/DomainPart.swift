import CICU
import Glibc

/// The domain part of a JID (RFC 7622 §3.2): a name of U-labels and NR-LDH labels, or an IP address.
enum DomainPart {
  static func enforce(_ part: Substring) throws(JIDError) -> String {
    if let plain = plain(part) { return plain }
    return try full(part)
  }

  /// The domain if it obviously consists of valid NR-LDH labels; nil leaves the decision to `full`.
  static func plain(_ part: Substring) -> String? {
    var part = part
    if part.utf8.last == UInt8(ascii: ".") { part = part.dropLast() }
    guard 1...maximumLength ~= part.utf8.count else { return nil }
    var hasUppercase = false
    var length = 0
    var last = UInt8(ascii: ".")
    for byte in part.utf8 {
      switch byte {
      case UInt8(ascii: "."):
        guard length > 0, last != UInt8(ascii: "-") else { return nil }
        length = -1
      case UInt8(ascii: "-"):
        // Rejects a hyphen at the beginning, and hyphens in the third and fourth position, which mark reserved labels.
        guard length > 0, length != 3 || last != byte else { return nil }
      case 0x41...0x5A: hasUppercase = true
      case 0x30...0x39, 0x61...0x7A: break
      default: return nil
      }
      length += 1
      guard length <= maximumLabelLength else { return nil }
      last = byte
    }
    guard length > 0, last != UInt8(ascii: "-") else { return nil }
    return hasUppercase ? part.lowercasedASCII : String(part)
  }

  static func full(_ part: Substring) throws(JIDError) -> String {
    try JID.checkLength(part, atMost: JID.maximumRawLength, .domainTooLong, .domain)
    if part.utf8.first == UInt8(ascii: "[") { return try addressLiteral(part) }
    guard var name = ICUText.lowercase(String(part)).flatMap(ICUText.widthMapped).flatMap(ICUText.nfc) else {
      throw invalid(.unicode)
    }
    if name.utf8.last == UInt8(ascii: ".") { name.unicodeScalars.removeLast() }
    guard !name.isEmpty else { throw JIDError(.noDomain, "no domain", .noDomain) }
    // ICU would ignore a second trailing dot.
    guard name.utf8.last != UInt8(ascii: ".") else { throw invalid(icu_idna_empty_label.rawValue) }
    // ICU would silently map away code points that IDNA2008 disallows. Both its input and its output are checked.
    try check(name)
    let unicode = try convert(name, toASCII: false)
    try check(unicode)
    try JID.checkLength(unicode[...], atMost: JID.maximumPartLength, .domainTooLong, .domain)
    _ = try convert(unicode, toASCII: true)
    return unicode
  }

  /// The domain in A-labels; unchanged if it has no U-labels or is an address.
  static func ascii(_ domain: String) -> String {
    if domain.utf8.allSatisfy({ $0 < 0x80 }) { return domain }
    // The conversion cannot fail for an enforced domain.
    return (try? convert(domain, toASCII: true)) ?? domain
  }

  /// An IPv6 address in brackets (RFC 3986 §3.2.2), without a zone; there are no other address literals.
  private static func addressLiteral(_ part: Substring) throws(JIDError) -> String {
    var address = in6_addr()
    let inside = part.dropFirst().dropLast()
    guard part.utf8.last == UInt8(ascii: "]"), inside.utf8.allSatisfy({ $0 != 0 && $0 < 0x80 }),
      inet_pton(AF_INET6, String(inside), &address) == 1
    else { throw JIDError(.invalidDomain, "domain is not an IPv6 address in brackets", .notIPv6) }
    return part.lowercasedASCII
  }

  private static func check(_ name: String) throws(JIDError) {
    for scalar in name.unicodeScalars where scalar != "." && scalar.idnaClass == .disallowed {
      throw invalid(.notAllowed(scalar))
    }
  }

  private static func convert(_ name: String, toASCII: Bool) throws(JIDError) -> String {
    guard let converter else { throw invalid(.unicode) }
    var errors: UInt32 = 0
    let result = ICUText.convert(name) { icu_idna_convert(converter, toASCII, $0, $1, $2, $3, &errors) }
    guard errors == 0 else { throw invalid(errors) }
    guard let result else { throw invalid(.unicode) }
    return result
  }

  private static func invalid(_ violation: PRECIS.Violation) -> JIDError {
    JIDError(.invalidDomain, .domain, violation)
  }

  private static func invalid(_ errors: UInt32) -> JIDError {
    func has(_ error: icu_idna_error) -> Bool { errors & error.rawValue != 0 }
    if has(icu_idna_name_too_long) {
      return JIDError(
        .domainTooLong, "domain is longer than \(maximumLength) octets in DNS", .nameTooLong,
        ["\(maximumLength)"])
    }
    if has(icu_idna_label_too_long) {
      return JIDError(
        .domainTooLong, "domain has a label of more than \(maximumLabelLength) octets in DNS", .labelTooLong,
        ["\(maximumLabelLength)"])
    }
    if has(icu_idna_empty_label) { return JIDError(.invalidDomain, "domain has an empty label", .emptyLabel) }
    if has(icu_idna_hyphen_at_end) {
      return JIDError(.invalidDomain, "domain has a label that begins or ends with a hyphen", .hyphenAtEnd)
    }
    if has(icu_idna_false_a_label) {
      return JIDError(
        .invalidDomain, "domain has a label that looks like an A-label but is not one", .falseALabel)
    }
    if has(icu_idna_bidi) { return invalid(.bidi) }
    return JIDError(.invalidDomain, "domain is not a valid internationalised domain name", .notIDN)
  }

  /// The maximum lengths of a name and of a label in octets (RFC 1035 §2.3.4, without the root).
  private static let maximumLength = 253
  private static let maximumLabelLength = 63

  /// Opened by the first domain that is not plain, and never closed. ICU allows its use by several threads.
  nonisolated(unsafe) private static let converter = icu_idna_open()
}
