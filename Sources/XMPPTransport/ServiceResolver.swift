/// Finds the servers of an XMPP domain.
public protocol ServiceResolver: Sendable {
  /// The targets to try one by one, best first; never empty.
  ///
  /// - Parameter domain: the domain of a JID in ASCII (A-labels), or an IP address.
  /// - Throws: `serviceUnavailable` when the domain says that it offers no XMPP service, `cancelled`.
  func targets(for domain: String) async throws(TransportError) -> [ServerTarget]
}
