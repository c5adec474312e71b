import AgentProtocol
import XMPPFeatures

/// The appearances of an account's contacts, rooms and occupants. Each is computed once.
package final class KnownAppearances {
  private let names: [String: String]
  private var known: [String: Appearance] = [:]

  package init(_ names: KnownNames) { self.names = names.byJID }

  /// - Parameter jid: a bare JID, or the full JID of an occupant of a room.
  package func appearance(of jid: String) -> Appearance {
    if let known = known[jid] { return known }
    let nickname = jid.firstIndex(of: "/").map { String(jid[$0...].dropFirst()) }
    let appearance = Appearance(
      jid: jid, name: nickname ?? names[jid], color: ConsistentColor(of: nickname ?? jid).hexadecimal)
    known[jid] = appearance
    return appearance
  }

  /// The appearance of the sender of a received message, or of the recipient of a sent one.
  package func appearance(of event: Event) -> Appearance {
    guard case .message(let message) = event.body else { return appearance(of: event.account) }
    return appearance(of: message.shownJID ?? event.account)
  }
}
