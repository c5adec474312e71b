/// The start of TLS on a connection: after a negotiation in the stream (RFC 6120 §5), or from the first byte
/// (XEP-0368).
public enum TLSMode: String, Sendable, Hashable {
  case startTLS = "starttls"
  case direct
}

/// A host and port to try.
public struct ServerTarget: Sendable, Hashable {
  /// A host name of ASCII letters (A-labels) without trailing dot, or an IP address.
  public var host: String
  public var port: Int
  public var tls: TLSMode
  /// The priority of the SRV record; lower values are tried first.
  public var priority: UInt16
  /// The weight of the SRV record among records of the same priority.
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
  /// The targets in the order of attempts: by priority, and within a priority at random by weight (RFC 2782, "Usage
  /// rules").
  ///
  /// Records of `_xmpps-client` and `_xmpp-client` are treated as one set (XEP-0368 §3).
  public func inTryingOrder(using generator: inout some RandomNumberGenerator) -> [ServerTarget] {
    var remaining = shuffled(using: &generator).sorted { ($0.priority, $0.weight) < ($1.priority, $1.weight) }
    var ordered: [ServerTarget] = []
    while let priority = remaining.first?.priority {
      // Targets of weight 0 come first in their priority, and are chosen only if the draw is 0.
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
