import AgentStore
import FoundationEssentials
import XMPPFeatures
import XMPPStanza

/// Selects what a device reads from the archive at its first login: the unread messages.
///
/// Pure. The archive is read backwards from its newest message, through the last days, and further within bounds while
/// the displayed marker of some conversation (XEP-0490) was not reached.
struct FirstCatchUp {
  /// The days that are read in any case, and the maximum.
  static let days = 7.0
  static let maximumDays = 30.0
  /// The number of messages, and of octets, at which reading ends.
  static let maximumMessages = 2500
  static let maximumOctets = 8 << 20

  /// The archive ID of the newest displayed message of each conversation, by bare JID.
  typealias Markers = [String: String]

  /// The archive ID of the newest message; empty for an empty archive, nil while unknown.
  private(set) var position: String?
  private let own: JID
  /// Seconds since 1970.
  private let now: Double
  /// Oldest first.
  private var messages: [Found] = []
  private var octets = 0
  /// The ID of the message before which the next page ends; nil when nothing is left to read.
  private var end: String?

  private struct Found {
    var message: IncomingMessage
    var id: String
    var time: Double
    /// The conversation that it belongs to.
    var peer: String
  }

  /// - Parameter own: the account's JID.
  init(own: JID, now: Double) {
    self.own = own.bare
    self.now = now
  }

  /// The page to read next; nil where nothing more is wanted.
  func next(_ markers: Markers) -> ArchivePage? {
    let oldest = now - Self.maximumDays * 86_400
    if position != nil {
      guard end != nil, messages.count < Self.maximumMessages, octets < Self.maximumOctets else { return nil }
      let reached = messages.first?.time ?? now
      if reached < oldest || (reached < recent && hasMet(markers)) { return nil }
    }
    return ArchivePage(
      .before(end), maximum: MessageArchive.pageSize, start: Date(timeIntervalSince1970: oldest))
  }

  /// Adds the results, oldest first, of the page that ``next(_:)`` returned last.
  mutating func add(_ page: ArchivePage, _ results: [IncomingMessage]) {
    position = position ?? page.position ?? ""
    // A server that returns the same page again would be read for ever.
    end = page.isLast || page.first == end ? nil : page.first
    let known = Set(messages.lazy.map(\.id))
    let found = results.compactMap(found).filter { !known.contains($0.id) }
    octets += found.reduce(0) { $0 + $1.message.message.payload.reduce(0) { $0 + $1.footprint } }
    messages = found + messages
  }

  /// The ID of the oldest message from which on no message is missing; nil where there is none.
  var start: String? { messages.first { $0.time >= recent }?.id }

  /// Divides the messages at the first unread one: the messages from there on are news. Both lists are sorted, oldest
  /// first.
  func sorted(_ markers: Markers) -> (past: [IncomingMessage], news: [IncomingMessage]) {
    var displayed: [String: Int] = [:]
    for (index, found) in messages.enumerated() where markers[found.peer] == found.id {
      displayed[found.peer] = index
    }
    let read = messages.indices.filter { $0 <= displayed[messages[$0].peer] ?? -1 }
    let isRead = Set(read)
    let wanted = messages.indices.filter { index in
      let found = messages[index]
      return found.time >= recent || (markers[found.peer] != nil && !isRead.contains(index))
    }
    let first =
      wanted.firstIndex { !isRead.contains($0) && isForAPerson(messages[$0].message) } ?? wanted.endIndex
    return (wanted[..<first].map { messages[$0].message }, wanted[first...].map { messages[$0].message })
  }

  /// The start of the days that are read in any case, in seconds since 1970.
  private var recent: Double { now - Self.days * 86_400 }

  private func hasMet(_ markers: Markers) -> Bool {
    let ids = Set(messages.lazy.map(\.id))
    return markers.values.allSatisfy(ids.contains)
  }

  private func found(_ message: IncomingMessage) -> Found? {
    guard case .archive(let id) = message.source else { return nil }
    let isOwn = message.message.from.map { $0.bare == own } ?? true
    let peer = (isOwn ? message.message.to : message.message.from)?.bare ?? own
    return Found(message: message, id: id, time: message.time(now: now).seconds, peer: peer.description)
  }

  /// Whether the message was received from a person and has content.
  private func isForAPerson(_ incoming: IncomingMessage) -> Bool {
    guard let message = incoming.stored(own: own, hasArchive: true, now: now) else { return false }
    return message.direction == .received && message.type != .error
  }
}
