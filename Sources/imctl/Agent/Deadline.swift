import AgentProtocol
import Dispatch
import Glibc

/// A point in time at which a wait ends, or never.
struct Deadline: Sendable {
  private let nanoseconds: UInt64?
  /// The extra seconds for an answer of an agent that has responded before.
  private var extraSeconds = 0.0

  static let never = Deadline(Timeout(seconds: 0))
  /// The deadline for work that must not wait at all.
  static let past = Deadline(nanoseconds: 0)

  init(_ timeout: Timeout) {
    self.init(nanoseconds: timeout.seconds > 0 ? Self.now + UInt64(timeout.seconds * 1e9) : nil)
  }

  private init(nanoseconds: UInt64?) { self.nanoseconds = nanoseconds }

  /// The earlier of this deadline and `timeout` from now.
  func atMost(_ timeout: Timeout) -> Deadline {
    let other = Deadline(timeout)
    return Deadline(nanoseconds: [nanoseconds, other.nanoseconds].compactMap(\.self).min())
  }

  var isOver: Bool { nanoseconds.map { Self.now >= $0 } ?? false }

  /// The remaining seconds, always positive; nil without a limit.
  var secondsLeft: Double? {
    nanoseconds.map { $0 > Self.now ? Double($0 - Self.now) / 1e9 : 0 }.map { max($0, 0.001) }
  }

  /// The deadline for an agent that observes the time limit itself and then reports its progress. It gets extra time
  /// for the answer, unless it has not responded at all.
  var ofAgent: Deadline {
    var deadline = self
    deadline.extraSeconds = 1
    return deadline
  }

  /// The deadline for the answer of an agent that has responded before.
  var ofAnswer: Deadline { later(by: extraSeconds) }

  private func later(by seconds: Double) -> Deadline {
    Deadline(nanoseconds: nanoseconds.map { $0 + UInt64(seconds * 1e9) })
  }

  /// The remaining time for `poll(2)`: milliseconds, rounded up; -1 for no limit.
  var pollTimeout: Int32 {
    guard let nanoseconds else { return -1 }
    let now = Self.now
    return now >= nanoseconds ? 0 : Int32(clamping: (nanoseconds - now + 999_999) / 1_000_000)
  }

  /// Ends this process at the deadline. Used for waits without time limit, such as for a lock that another process
  /// holds.
  func endProcess(waitingFor what: FailureDetail, json: Bool) {
    guard let secondsLeft else { return }
    DispatchQueue.global().asyncAfter(deadline: .now() + secondsLeft) {
      CommandEnd(Failure.timedOut(what), json: json).exit()
    }
  }

  private static var now: UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}

extension Failure {
  /// The failure for a time limit that passed during the wait for `what`: exit status 75.
  static func timedOut(_ what: FailureDetail) -> Failure {
    Failure(.connectTimeout, stage: .input, detail: .usage(.waited, what))
  }
}
