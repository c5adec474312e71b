import AgentProtocol
import XMPPFeatures
import XMPPStanza

/// The presences of the contacts' devices, as far as the server has sent them in this session.
///
/// Bounded: presences of senders who are not contacts are dropped, and a contact's presences are limited.
package struct ContactPresences: Sendable, Equatable {
  /// The maximum number of devices per contact.
  static let maximumResources = 32
  /// The maximum length of a status in characters; the rest is cut off.
  package static let maximumStatus = 512

  /// The bare JIDs of the contacts.
  private var contacts: Set<String> = []
  private var presences: [String: [ContactPresence]] = [:]

  package init() {}

  package subscript(_ jid: String) -> [ContactPresence] { presences[jid] ?? [] }

  package var count: Int { contacts.count }

  /// Sets the contacts.
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

  /// Forgets all presences.
  package mutating func clear() { presences = [:] }

  /// Applies the presence of a contact (RFC 6121 §4.2, §4.5).
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
      // An account that is gone, or a server that does not name the resource.
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
  /// The contents of an available or unavailable presence; an unknown `show` counts as available.
  package init(_ presence: Presence) {
    self =
      presence.type == .unavailable
      ? .offline : presence.show.flatMap { PresenceShow(rawValue: $0.rawValue) } ?? .online
  }
}
