/// Events that wait for their consumer. Bounded: the stream stops reading before it overflows.
struct StreamInbox {
  private static let pauseAt = 256
  private static let resumeAt = 64

  private var events: [StreamEvent] = []
  private var taken = 0
  private var waiter: CheckedContinuation<StreamEvent?, Never>?
  private(set) var isPaused = false
  private(set) var isFinished = false

  var count: Int { events.count - taken }

  var mustPauseReading: Bool {
    mutating get {
      guard !isPaused, count >= Self.pauseAt else { return false }
      isPaused = true
      return true
    }
  }

  var mayResumeReading: Bool {
    mutating get {
      guard isPaused, count <= Self.resumeAt else { return false }
      isPaused = false
      return true
    }
  }

  mutating func put(_ event: StreamEvent) {
    if let waiter {
      self.waiter = nil
      waiter.resume(returning: event)
    } else {
      events.append(event)
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
    }
    return events[taken]
  }

  /// A second waiter releases the first.
  mutating func wait(_ waiter: CheckedContinuation<StreamEvent?, Never>) {
    stopWaiting()
    self.waiter = waiter
  }

  mutating func stopWaiting() {
    waiter?.resume(returning: nil)
    waiter = nil
  }

  mutating func finish() {
    isFinished = true
    stopWaiting()
  }
}
