/// Events that wait for their consumer. Bounded: the stream stops reading before it overflows.
struct StreamInbox {
  private static let pauseAt = 256
  private static let resumeAt = 64
  private static let fullAt = 4096

  /// Names one call that waits, so that nobody releases the next one by mistake.
  typealias Turn = UInt64

  private var events: [StreamEvent] = []
  private var taken = 0
  private var turns: Turn = 0
  private var waiter: (continuation: CheckedContinuation<StreamEvent?, Never>, turn: Turn)?
  /// The consumer lags behind.
  private(set) var isPaused = false
  private(set) var isFinished = false

  var count: Int { events.count - taken }
  /// The consumer lags so far behind that nothing more is stored for it.
  var isFull: Bool { count >= Self.fullAt }

  mutating func put(_ event: StreamEvent) {
    if let waiter {
      self.waiter = nil
      waiter.continuation.resume(returning: event)
    } else {
      events.append(event)
      if count >= Self.pauseAt { isPaused = true }
    }
  }

  mutating func take() -> StreamEvent? {
    guard taken < events.count else { return nil }
    defer {
      taken += 1
      if taken == events.count || taken > Self.pauseAt {
        events.removeFirst(taken)
        taken = 0
      }
      if count <= Self.resumeAt { isPaused = false }
    }
    return events[taken]
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
