/// A host with an optional port: `im.example`, `im.example:5222`, `192.0.2.1:5222`, `[2001:db8::1]:5222`, or an IPv6
/// address without brackets.
public struct HostAddress: Sendable, Hashable {
  /// A host name of ASCII letters (A-labels) without trailing dot, or an IP address without brackets.
  public let host: String
  /// 1…65535.
  public let port: Int?

  /// Returns nil for any other text, such as one with a user name, a path, blanks or an invalid port.
  public init?(_ text: some StringProtocol) {
    if IPAddress.isV6(String(text)) {
      host = String(text)
      port = nil
      return
    }
    var host = text.prefix { $0 != ":" }
    var rest = text.dropFirst(host.count)
    if text.hasPrefix("[") {
      guard let end = text.firstIndex(of: "]") else { return nil }
      host = text[..<end].dropFirst()
      rest = text[end...].dropFirst()
      guard IPAddress.isV6(String(host)) else { return nil }
    } else {
      if host.hasSuffix(".") { host = host.dropLast() }
      guard Self.isName(host) else { return nil }
    }
    self.host = String(host)
    if rest.isEmpty {
      port = nil
    } else {
      let digits = rest.dropFirst()
      guard rest.hasPrefix(":"), digits.utf8.count <= 5, digits.utf8.allSatisfy(Self.isDigit),
        let port = Int(digits), (1...65_535).contains(port)
      else { return nil }
      self.port = port
    }
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

  /// RFC 1123 §2.1; underscores are allowed, too. A name that ends like an IPv4 address must be one.
  private static func isName(_ text: some StringProtocol) -> Bool {
    guard text.utf8.count <= 253 else { return false }
    let labels = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    let isText = labels.allSatisfy { label in
      (1...63).contains(label.count)
        && label.allSatisfy { byte in
          switch byte {
          case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"): true
          default: false
          }
        }
    }
    guard isText, let last = labels.last else { return false }
    return !last.allSatisfy(isDigit) || IPAddress.isValid(String(text))
  }
}
