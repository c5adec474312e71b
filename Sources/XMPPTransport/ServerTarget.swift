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
