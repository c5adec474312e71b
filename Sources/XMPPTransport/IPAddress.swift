import CResolv

/// IP addresses in text form.
enum IPAddress {
  /// Whether `text` is an IPv4 or IPv6 address without brackets.
  static func isValid(_ text: String) -> Bool { isValid(text, AF_INET) || isV6(text) }

  static func isV6(_ text: String) -> Bool { isValid(text, AF_INET6) }

  private static func isValid(_ text: String, _ family: Int32) -> Bool {
    var address = in6_addr()
    return inet_pton(family, text, &address) == 1
  }
}
