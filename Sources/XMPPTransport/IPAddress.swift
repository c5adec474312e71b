import CResolv

/// IP addresses in text form.
enum IPAddress {
  /// Whether `text` is an IPv4 or IPv6 address without brackets.
  static func isValid(_ text: String) -> Bool {
    var address = in6_addr()
    return inet_pton(AF_INET, text, &address) == 1 || inet_pton(AF_INET6, text, &address) == 1
  }
}
