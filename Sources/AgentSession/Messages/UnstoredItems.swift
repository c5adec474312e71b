import XMPP
import XMPPClient

/// The items of a session's streams that are not stored yet, in the order in which they happened.
///
/// Pure. Messages of a stream that counts stanzas wait for their number, and are removed together with it.
struct UnstoredItems {
  typealias Item = MessageItem

  /// The items, and octets of memory, above which the stream has to wait.
  static let maximumItems = 1000
  static let maximumOctets = 8 << 20
  /// The octets of one transaction, so that other readers and writers get their turn; one more item may begin below the
  /// limit.
  static let octetsEach = 1 << 20

  private struct Entry {
    var item: Item
    var stream: BoundSession
    var octets: Int

    init(_ item: Item, _ stream: BoundSession) {
      self.item = item
      self.stream = stream
      octets = item.footprint
    }
  }

  private var entries: [Entry] = []

  var count: Int { entries.count }
  private var octets: Int { entries.reduce(0) { $0 + $1.octets } }
  var hasRoom: Bool { count < Self.maximumItems && octets < Self.maximumOctets }

  /// The streams that have items, in the order of their first items.
  var streams: [BoundSession] {
    entries.reduce(into: []) { streams, entry in
      if !streams.contains(entry.stream) { streams.append(entry.stream) }
    }
  }

  /// The streams whose end waits to be stored.
  var endedStreams: [BoundSession] {
    entries.compactMap { if case .ended = $0.item { $0.stream } else { nil } }
  }

  mutating func append(_ item: Item, of stream: BoundSession) { entries.append(Entry(item, stream)) }

  /// Puts back items at the front.
  mutating func putBack(_ items: [Item], of stream: BoundSession) {
    entries = items.map { Entry($0, stream) } + entries
  }

  /// Removes the next items of a stream that can be stored; empty where they have to wait.
  mutating func removeNext(of stream: BoundSession, isCounted: Bool) -> [Item] {
    let all = entries.filter { $0.stream == stream }
    let numbered = all.lastIndex(where: \.item.isNumber).map { $0 + 1 } ?? 0
    let unnumbered = all[numbered...]
    // No server sends this many stanzas without a number.
    let isWhole =
      !isCounted || unnumbered.count >= Self.maximumItems
      || unnumbered.reduce(0) { $0 + $1.octets } >= Self.maximumOctets
    var items: [Item] = []
    var left: [Entry] = []
    var (place, size, isEnough) = (0, 0, false)
    for entry in entries {
      guard entry.stream == stream, !isEnough else {
        left.append(entry)
        continue
      }
      let waits = entry.item.isArrival || (entry.item.isShown && left.contains { $0.stream == stream })
      if isWhole || place < numbered || !waits {
        items.append(entry.item)
        size += entry.octets
        isEnough = size >= Self.octetsEach && (isWhole || entry.item.isNumber)
      } else {
        left.append(entry)
      }
      place += 1
    }
    entries = left
    return items
  }

  /// Drops the unstored messages of a stream, because the server sends them again; returns their number.
  mutating func forget(_ stream: BoundSession) -> Int {
    let before = count
    entries.removeAll { $0.stream == stream && ($0.item.isArrival || $0.item.isNumber) }
    return before - count
  }
}
