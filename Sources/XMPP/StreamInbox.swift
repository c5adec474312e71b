import NIOCore
import XMPPStanza

/// Events that wait for their consumers. Bounded: the stream stops reading before it overflows.
///
/// Acknowledgements take no place in it, since reading is what brings them: a program may send for ever and take no
/// event. What they tell is kept of the last ``acknowledgementsKept`` stanzas.
struct StreamInbox {
  private static let pauseAt = 256
  private static let resumeAt = 64
  private static let fullAt = 4096
  /// The same in octets of memory.
  private static let pauseAtOctets = 1 << 20
  private static let resumeAtOctets = 1 << 18
  private static let fullAtOctets = 32 << 20
  /// Acknowledged stanzas that wait to be told of.
  static let acknowledgementsKept = 10_000

  /// Names one call that waits, so that nobody releases another one by mistake.
  typealias Turn = UInt64

  private enum Entry {
    case event(StreamEvent, octets: Int)
    /// So many of the acknowledged stanzas, and of those that were not kept.
    case acknowledged(Int)
  }

  private var entries = CircularBuffer<Entry>()
  private var acknowledged = CircularBuffer<SentStanza>()
  /// Acknowledged stanzas that were not kept, of the first entries.
  private var forgotten = 0
  private var octets = 0
  private var turns: Turn = 0
  private var waiters = CircularBuffer<(continuation: CheckedContinuation<StreamEvent?, Never>, turn: Turn)>()
  /// The consumers lag behind.
  private(set) var isPaused = false
  private(set) var isFinished = false
  /// Events that wait, acknowledgements not among them.
  private(set) var count = 0

  /// Consumers that wait for an event.
  var waiting: Int { waiters.count }
  /// The consumers lag so far behind that nothing more is stored for them.
  var isFull: Bool { count >= Self.fullAt || octets >= Self.fullAtOctets }

  mutating func put(_ event: StreamEvent) {
    if let waiter = waiters.popFirst() { return waiter.continuation.resume(returning: event) }
    if case .acknowledged(let stanzas) = event { return put(stanzas) }
    let size = event.footprint
    entries.append(.event(event, octets: size))
    count += 1
    octets += size
    if count >= Self.pauseAt || octets >= Self.pauseAtOctets { isPaused = true }
  }

  private mutating func put(_ stanzas: [SentStanza]) {
    acknowledged += stanzas
    let excess = max(0, acknowledged.count - Self.acknowledgementsKept)
    acknowledged.removeFirst(excess)
    forgotten += excess
    if case .acknowledged(let earlier)? = entries.last {
      entries[entries.index(before: entries.endIndex)] = .acknowledged(earlier + stanzas.count)
    } else {
      entries.append(.acknowledged(stanzas.count))
    }
  }

  mutating func popFirst() -> StreamEvent? {
    while let entry = entries.popFirst() {
      switch entry {
      case .event(let event, let size):
        count -= 1
        octets -= size
        if count <= Self.resumeAt, octets <= Self.resumeAtOctets { isPaused = false }
        return event
      case .acknowledged(let number):
        let lost = min(forgotten, number)
        forgotten -= lost
        let kept = Array(acknowledged.prefix(number - lost))
        acknowledged.removeFirst(kept.count)
        if !kept.isEmpty { return .acknowledged(kept) }
      }
    }
    return nil
  }

  /// The next event where it is a message as the other one is, or a request as the other one is; nil where it is
  /// something else.
  mutating func popFirst(like other: StreamEvent) -> StreamEvent? {
    guard case .event(let next, _)? = entries.first else { return nil }
    switch (next, other) {
    case (.message, .message), (.request, .request): return popFirst()
    default: return nil
    }
  }

  mutating func nextTurn() -> Turn {
    turns &+= 1
    return turns
  }

  /// Who waits first gets the next event.
  mutating func wait(_ continuation: CheckedContinuation<StreamEvent?, Never>, _ turn: Turn) {
    waiters.append((continuation, turn))
  }

  /// Releases the waiter of this turn; nobody where it has got its event.
  mutating func stopWaiting(_ turn: Turn) {
    guard let place = waiters.firstIndex(where: { $0.turn == turn }) else { return }
    waiters.remove(at: place).continuation.resume(returning: nil)
  }

  mutating func finish() {
    isFinished = true
    while let waiter = waiters.popFirst() { waiter.continuation.resume(returning: nil) }
  }
}
