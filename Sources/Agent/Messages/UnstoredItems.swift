import XMPP
import XMPPClient

/// What is to be stored of the streams of a session, in the order in which it happened.
///
/// Pure. Messages of a stream that counts its stanzas wait for their number, and are taken together with it.
struct UnstoredItems {
  typealias Item = MessageItem

  /// Items, and octets of memory, that may wait before the stream has to.
  static let maximumItems = 1000
  static let maximumOctets = 8 << 20
  /// Octets that are taken at a time: others want to read and to write, too. An item that begins below is the last one.
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

  /// Those with something here, in the order of what is first.
  var streams: [BoundSession] {
    entries.reduce(into: []) { streams, entry in
      if !streams.contains(entry.stream) { streams.append(entry.stream) }
    }
  }

  /// Those that have ended.
  var endedStreams: [BoundSession] {
    entries.compactMap { if case .ended = $0.item { $0.stream } else { nil } }
  }

  mutating func append(_ item: Item, of stream: BoundSession) { entries.append(Entry(item, stream)) }

  /// They are the next ones again.
  mutating func putBack(_ items: [Item], of stream: BoundSession) {
    entries = items.map { Entry($0, stream) } + entries
  }

  /// Takes what of a stream is to be stored next; nothing where it has to wait.
  mutating func removeNext(of stream: BoundSession, isCounted: Bool) -> [Item] {
    let all = entries.filter { $0.stream == stream }
    let numbered = all.lastIndex(where: \.item.isNumber).map { $0 + 1 } ?? 0
    let unnumbered = all[numbered...]
    // So many without a number are no server's doing.
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

  /// What a stream has brought, and could not be stored, comes again: how many these are.
  mutating func forget(_ stream: BoundSession) -> Int {
    let before = count
    entries.removeAll { $0.stream == stream && ($0.item.isArrival || $0.item.isNumber) }
    return before - count
  }
}
