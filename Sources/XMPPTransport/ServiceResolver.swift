/// Finds the servers of an XMPP domain.
public protocol ServiceResolver: Sendable {
  /// The targets to try one by one, best first; never empty.
  ///
  /// - Parameter domain: the domain of a JID in ASCII (A-labels), or an IP address.
  /// - Throws: `serviceUnavailable` when the domain says that it offers no XMPP service, `cancelled`.
  func targets(for domain: String) async throws(TransportError) -> [ServerTarget]
}

/// The one target a user named by host and port: no SRV lookup (RFC 6120 §3.2.3).
public struct FixedResolver: ServiceResolver {
  public var target: ServerTarget

  public init(_ target: ServerTarget) { self.target = target }

  public func targets(for domain: String) async throws(TransportError) -> [ServerTarget] { [target] }
}
