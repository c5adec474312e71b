/// How a connection gets its TLS: asked for inside the stream (RFC 6120 §5) or from the first byte (XEP-0368).
public enum TLSMode: String, Sendable, Hashable {
  case startTLS = "starttls"
  case direct
}

/// One host and port to try.
public struct ServerTarget: Sendable, Hashable {
  /// A host name of ASCII letters (A-labels) without final dot, or an IP address.
  public var host: String
  public var port: Int
  public var tls: TLSMode
  /// Priority of the SRV record: lower is tried first.
  public var priority: UInt16
  /// Weight of the SRV record among those of the same priority.
  public var weight: UInt16

  public init(host: String, port: Int, tls: TLSMode, priority: UInt16 = 0, weight: UInt16 = 0) {
    self.host = host
    self.port = port
    self.tls = tls
    self.priority = priority
    self.weight = weight
  }
}

extension ServerTarget {
  /// An address as a server gives it: `host`, `host:port`, `[IPv6]:port` or an IPv6 address alone (RFC 6120 §4.9.3.19).
  ///
  /// nil for what is no host or no port.
  public init?(address: some StringProtocol, port: Int, tls: TLSMode) {
    var host = Substring(address)
    var digits: Substring?
    if host.first == "[" {
      guard let end = host.lastIndex(of: "]") else { return nil }
      let rest = host[host.index(after: end)...]
      guard rest.isEmpty || rest.first == ":" else { return nil }
      digits = rest.isEmpty ? nil : rest.dropFirst()
      host = host[host.index(after: host.startIndex)..<end]
      guard host.utf8.contains(UInt8(ascii: ":")) else { return nil }
    } else if let colon = host.lastIndex(of: ":"), host.firstIndex(of: ":") == colon {
      digits = host[host.index(after: colon)...]
      host = host[..<colon]
    }
    let allowed = host.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: ":"),
        UInt8(ascii: "_"):
        true
      default: false
      }
    }
    guard (1...255).contains(host.utf8.count), allowed else { return nil }
    var number = port
    if let digits {
      guard digits.utf8.allSatisfy({ (48...57).contains($0) }), let given = Int(digits),
        (1...65535).contains(given)
      else { return nil }
      number = given
    }
    self.init(host: String(host), port: number, tls: tls)
  }
}

extension ServerTarget: CustomStringConvertible {
  /// `host:port`, with an IPv6 address in brackets.
  public var description: String {
    host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
  }
}

extension Sequence<ServerTarget> {
  /// The order in which to try the targets: by priority, and at random by weight within one (RFC 2782, "Usage rules").
  ///
  /// Records of `_xmpps-client` and `_xmpp-client` are mixed as if they were of one set (XEP-0368 §3).
  public func inTryingOrder(using generator: inout some RandomNumberGenerator) -> [ServerTarget] {
    var remaining = shuffled(using: &generator).sorted { ($0.priority, $0.weight) < ($1.priority, $1.weight) }
    var ordered: [ServerTarget] = []
    while let priority = remaining.first?.priority {
      // Weight 0 stands first in its priority: chosen only when the draw is 0.
      let candidates = remaining.prefix { $0.priority == priority }
      var draw = Int.random(in: 0...candidates.reduce(0) { $0 + Int($1.weight) }, using: &generator)
      let chosen = candidates.firstIndex { candidate in
        draw -= Int(candidate.weight)
        return draw <= 0
      }
      ordered.append(remaining.remove(at: chosen ?? candidates.startIndex))
    }
    return ordered
  }
}
