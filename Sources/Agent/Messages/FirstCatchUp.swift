import AgentStore
import FoundationEssentials
import XMPPFeatures
import XMPPStanza

/// What a device asks the archive for when it logs in for the first time: the messages that nobody has read.
///
/// Pure. The archive is read backwards from its newest message, through the last days; and further, as far as the
/// messages of some conversation are newer than the account's displayed marker in it (XEP-0490), within bounds.
struct FirstCatchUp {
  /// Days that are read in any case, and at most.
  static let days = 7.0
  static let maximumDays = 30.0
  /// Messages and octets at which it ends.
  static let maximumMessages = 2500
  static let maximumOctets = 8 << 20

  /// Ids in the archive of the newest messages that some device has displayed, by the bare JID of the conversation.
  typealias Markers = [String: String]

  /// The newest message of the archive; empty where there is none, nil where that is not known yet.
  private(set) var position: String?
  private let own: JID
  /// Seconds since 1970.
  private let now: Double
  /// Oldest first.
  private var messages: [Found] = []
  private var octets = 0
  /// Before which message the next page ends; nil: nothing is left to be read.
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

  /// The page to read next; nil where nothing is left that is wanted.
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

  /// Takes what came of the page that ``next(_:)`` has given last, oldest first.
  mutating func add(_ page: ArchivePage, _ results: [IncomingMessage]) {
    position = position ?? page.position ?? ""
    // A page that comes again leads nowhere.
    end = page.isLast || page.first == end ? nil : page.first
    let known = Set(messages.lazy.map(\.id))
    let found = results.compactMap(found).filter { !known.contains($0.id) }
    octets += found.reduce(0) { $0 + $1.message.message.payload.reduce(0) { $0 + $1.footprint } }
    messages = found + messages
  }

  /// The oldest message of those of which none is missing up to the newest; nil where there is none.
  var start: String? { messages.first { $0.time >= recent }?.id }

  /// What is news, from the first message on that nobody has read; and what is not, before it. Both oldest first.
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

  /// The begin of the last days, in seconds since 1970.
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

  /// It came from somebody, and says something.
  private func isForAPerson(_ incoming: IncomingMessage) -> Bool {
    guard let message = incoming.stored(own: own, hasArchive: true, now: now) else { return false }
    return message.direction == .received && message.type != .error
  }
}
