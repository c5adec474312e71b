/// Finds the servers of an XMPP domain.
public protocol ServiceResolver: Sendable {
  /// The targets in the order of attempts, best first; never empty.
  ///
  /// - Parameter domain: The domain of a JID in ASCII (A-labels), or an IP address.
  /// - Throws: `serviceUnavailable` if the domain explicitly has no XMPP service; `cancelled`.
  func targets(for domain: String) async throws(TransportError) -> [ServerTarget]
}
