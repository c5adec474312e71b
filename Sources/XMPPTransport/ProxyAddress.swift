import FoundationEssentials

/// A proxy: SOCKS5 (RFC 1928) or HTTP CONNECT (RFC 9110 §9.3.6).
///
/// The proxy receives the name of the target host, and resolves it.
public struct ProxyAddress: Sendable, Hashable {
  public enum Kind: Sendable, Hashable {
    case socks5
    case http
  }

  public let kind: Kind
  public let host: String
  public let port: Int
  /// The user name: 1 to 255 octets without control characters.
  public let user: String?

  /// Parses `socks5h://[user@]host[:port]` (or `socks5://`, which is equivalent) or `http://[user@]host[:port]`. The
  /// default port is 1080 or 80.
  ///
  /// - Throws: `invalidConfiguration`. A password in the URL is refused; no part of the URL is repeated in the error.
  public init(_ url: String) throws(TransportError) {
    guard let parts = URLComponents(string: url), let host = parts.host else {
      throw Self.invalid(.proxySyntax)
    }
    switch parts.scheme?.lowercased() {
    case "socks5h", "socks5": kind = .socks5
    case "http": kind = .http
    default: throw Self.invalid(.proxySyntax)
    }
    guard parts.password == nil else {
      throw Self.invalid(.proxyPassword)
    }
    guard ["", "/"].contains(parts.path), parts.query == nil, parts.fragment == nil else {
      throw Self.invalid(.proxyPath)
    }
    user = parts.user
    if let user, !Self.isUser(user, kind) { throw Self.invalid(.proxyUser) }
    let port = parts.port ?? (kind == .socks5 ? 1080 : 80)
    guard let address = HostAddress("\(host):\(port)"), let port = address.port else {
      throw Self.invalid(.proxyHost)
    }
    self.host = address.host
    self.port = port
  }

  /// RFC 1929 §2 limits the length to one octet; in RFC 7617 §2, a colon ends the name.
  private static func isUser(_ user: String, _ kind: Kind) -> Bool {
    (1...255).contains(user.utf8.count) && user.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
      && (kind == .socks5 || !user.contains(":"))
  }

  private static func invalid(_ sentence: TransportError.Sentence) -> TransportError {
    TransportError(.invalidConfiguration, .says(sentence))
  }
}

extension ProxyAddress: CustomStringConvertible {
  /// `host:port`, with an IPv6 address in brackets.
  public var description: String { ServerTarget(host: host, port: port, tls: .startTLS).description }
}
