import NIOCore

/// Events that wait for their consumer. Bounded: the stream stops reading before it overflows.
struct StreamInbox {
  private static let pauseAt = 256
  private static let resumeAt = 64
  private static let fullAt = 4096
  /// The same in octets of memory.
  private static let pauseAtOctets = 1 << 20
  private static let resumeAtOctets = 1 << 18
  private static let fullAtOctets = 32 << 20

  /// Names one call that waits, so that nobody releases the next one by mistake.
  typealias Turn = UInt64

  private var events = CircularBuffer<(event: StreamEvent, octets: Int)>()
  private var octets = 0
  private var turns: Turn = 0
  private var waiter: (continuation: CheckedContinuation<StreamEvent?, Never>, turn: Turn)?
  /// The consumer lags behind.
  private(set) var isPaused = false
  private(set) var isFinished = false

  var count: Int { events.count }
  /// The consumer lags so far behind that nothing more is stored for it.
  var isFull: Bool { count >= Self.fullAt || octets >= Self.fullAtOctets }

  mutating func put(_ event: StreamEvent) {
    if let waiter {
      self.waiter = nil
      waiter.continuation.resume(returning: event)
    } else {
      let size = event.footprint
      events.append((event, size))
      octets += size
      if count >= Self.pauseAt || octets >= Self.pauseAtOctets { isPaused = true }
    }
  }

  mutating func take() -> StreamEvent? {
    guard let (event, size) = events.popFirst() else { return nil }
    octets -= size
    if count <= Self.resumeAt, octets <= Self.resumeAtOctets { isPaused = false }
    return event
  }

  mutating func nextTurn() -> Turn {
    turns &+= 1
    return turns
  }

  /// A second waiter releases the first.
  mutating func wait(_ continuation: CheckedContinuation<StreamEvent?, Never>, _ turn: Turn) {
    release()
    waiter = (continuation, turn)
  }

  /// Releases the waiter of this turn; nobody where it has got its event.
  mutating func stopWaiting(_ turn: Turn) {
    if waiter?.turn == turn { release() }
  }

  mutating func finish() {
    isFinished = true
    release()
  }

  private mutating func release() {
    waiter?.continuation.resume(returning: nil)
    waiter = nil
  }
}
