import Glibc

/// A point in time that a wait ends at, or never.
struct Deadline: Sendable {
  private let nanoseconds: UInt64?

  static let never = Deadline(Timeout(seconds: 0))

  init(_ timeout: Timeout) {
    nanoseconds = timeout.seconds > 0 ? Self.now + UInt64(timeout.seconds * 1e9) : nil
  }

  var isOver: Bool { nanoseconds.map { Self.now >= $0 } ?? false }

  /// What is left for `poll(2)`: milliseconds, rounded up; -1 for ever.
  var pollTimeout: Int32 {
    guard let nanoseconds else { return -1 }
    let now = Self.now
    return now >= nanoseconds ? 0 : Int32(clamping: (nanoseconds - now + 999_999) / 1_000_000)
  }

  private static var now: UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}
