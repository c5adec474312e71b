import AgentProtocol
import XMPPFeatures
import XMPPStanza

/// Which devices of the contacts are online, and what they show: as far as the server has told it in this session.
///
/// Bounded: what anybody sends who is no contact is not kept, nor more than a contact can mean.
package struct ContactPresences: Sendable, Equatable {
  /// Devices that are kept of one contact.
  static let maximumResources = 32
  /// Characters of a status; the rest is left out.
  package static let maximumStatus = 512

  /// Bare JIDs of those whose presence is kept.
  private var contacts: Set<String> = []
  private var presences: [String: [ContactPresence]] = [:]

  package init() {}

  package subscript(_ jid: String) -> [ContactPresence] { presences[jid] ?? [] }

  package var count: Int { contacts.count }

  /// From now on these are the contacts.
  package mutating func setContacts(_ jids: some Sequence<String>) {
    contacts = Set(jids)
    presences = presences.filter { contacts.contains($0.key) }
  }

  package mutating func add(_ jid: String) {
    if contacts.count < Roster.maximumItems { contacts.insert(jid) }
  }

  package mutating func remove(_ jid: String) {
    contacts.remove(jid)
    presences[jid] = nil
  }

  /// Nobody is known to be online.
  package mutating func clear() { presences = [:] }

  /// Takes over what a contact shows (RFC 6121 §4.2, §4.5).
  package mutating func update(with presence: Presence) {
    guard let from = presence.from, presence.type == nil || presence.type == .unavailable,
      contacts.contains(from.bare.description)
    else { return }
    let jid = from.bare.description
    var known = presences[jid] ?? []
    known.removeAll { $0.resource == from.resource }
    if presence.type == nil {
      if known.count < Self.maximumResources { known.append(ContactPresence(presence)) }
    } else if from.isBare {
      // An account that is gone, or a server that tells no resource.
      known = []
    }
    presences[jid] = known.isEmpty ? nil : known
  }
}

extension ContactPresence {
  package init(_ presence: Presence) {
    let status = presence.status.map { status in
      String(String.UnicodeScalarView(status.unicodeScalars.prefix(ContactPresences.maximumStatus)))
    }
    self.init(
      resource: presence.from?.resource, show: PresenceShow(presence),
      status: status?.isEmpty == true ? nil : status,
      priority: Int(presence.priority))
  }
}

extension PresenceShow {
  /// What a presence that is available or unavailable shows; what RFC 6121 does not know is plainly available.
  package init(_ presence: Presence) {
    self =
      presence.type == .unavailable
      ? .offline : presence.show.flatMap { PresenceShow(rawValue: $0.rawValue) } ?? .online
  }
}
