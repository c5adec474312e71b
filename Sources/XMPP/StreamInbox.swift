import NIOCore
import XMPPStanza

/// The events that wait for their consumers. Bounded: the stream stops reading before the inbox overflows.
///
/// Acknowledgements do not count, since they arrive only by reading: a program may send without ever taking an event.
/// The last ``acknowledgementsKept`` acknowledged stanzas are kept.
struct StreamInbox {
  private static let pauseAt = 256
  private static let resumeAt = 64
  private static let fullAt = 4096
  /// The same in octets of memory.
  private static let pauseAtOctets = 1 << 20
  private static let resumeAtOctets = 1 << 18
  private static let fullAtOctets = 32 << 20
  /// The maximum number of acknowledged stanzas that wait to be reported.
  static let acknowledgementsKept = 10_000

  /// Identifies a waiting call, so that no other one is released.
  typealias Turn = UInt64

  private enum Entry {
    case event(StreamEvent, octets: Int)
    /// The number of acknowledged stanzas, including those that were not kept.
    case acknowledged(Int)
  }

  private var entries = CircularBuffer<Entry>()
  private var acknowledged = CircularBuffer<SentStanza>()
  /// The number of acknowledged stanzas of the first entries that were not kept.
  private var forgotten = 0
  private var octets = 0
  private var turns: Turn = 0
  private var waiters = CircularBuffer<(continuation: CheckedContinuation<StreamEvent?, Never>, turn: Turn)>()
  /// Whether the consumers lag behind.
  private(set) var isPaused = false
  private(set) var isFinished = false
  /// The number of waiting events without acknowledgements.
  private(set) var count = 0

  /// The number of consumers that wait for an event.
  var waiting: Int { waiters.count }
  /// Whether the consumers lag so far behind that no more events are stored.
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

  /// The next event if both are messages or both are requests; otherwise nil.
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

  /// Adds a waiter. The first waiter gets the next event.
  mutating func wait(_ continuation: CheckedContinuation<StreamEvent?, Never>, _ turn: Turn) {
    waiters.append((continuation, turn))
  }

  /// Releases the waiter of this turn unless it has got its event.
  mutating func stopWaiting(_ turn: Turn) {
    guard let place = waiters.firstIndex(where: { $0.turn == turn }) else { return }
    waiters.remove(at: place).continuation.resume(returning: nil)
  }

  mutating func finish() {
    isFinished = true
    while let waiter = waiters.popFirst() { waiter.continuation.resume(returning: nil) }
  }
}
