import AgentProtocol
import Dispatch
import Glibc

/// A point in time that a wait ends at, or never.
struct Deadline: Sendable {
  private let nanoseconds: UInt64?
  /// How much later an answer may come.
  private var patience = 0.0

  static let never = Deadline(Timeout(seconds: 0))
  /// What takes any time at all is not waited for.
  static let past = Deadline(nanoseconds: 0)

  init(_ timeout: Timeout) {
    self.init(nanoseconds: timeout.seconds > 0 ? Self.now + UInt64(timeout.seconds * 1e9) : nil)
  }

  private init(nanoseconds: UInt64?) { self.nanoseconds = nanoseconds }

  /// This one, or `timeout` from now where that is earlier.
  func atMost(_ timeout: Timeout) -> Deadline {
    let other = Deadline(timeout)
    return Deadline(nanoseconds: [nanoseconds, other.nanoseconds].compactMap(\.self).min())
  }

  var isOver: Bool { nanoseconds.map { Self.now >= $0 } ?? false }

  /// What is left, more than none; nil without a bound.
  var secondsLeft: Double? {
    nanoseconds.map { $0 > Self.now ? Double($0 - Self.now) / 1e9 : 0 }.map { max($0, 0.001) }
  }

  /// For an agent that keeps to this one by itself, and then says how far it came. One that has not said a word by then
  /// says nothing more.
  var ofAgent: Deadline {
    var deadline = self
    deadline.patience = 1
    return deadline
  }

  /// Until when an answer is waited for of an agent that has said something.
  var ofAnswer: Deadline { later(by: patience) }

  private func later(by seconds: Double) -> Deadline {
    Deadline(nanoseconds: nanoseconds.map { $0 + UInt64(seconds * 1e9) })
  }

  /// What is left for `poll(2)`: milliseconds, rounded up; -1 for ever.
  var pollTimeout: Int32 {
    guard let nanoseconds else { return -1 }
    let now = Self.now
    return now >= nanoseconds ? 0 : Int32(clamping: (nanoseconds - now + 999_999) / 1_000_000)
  }

  /// Ends this process at the deadline, where a wait knows of none: for a lock that another process holds.
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
  /// The time of the command was up before `what` came: exit status 75.
  static func timedOut(_ what: FailureDetail) -> Failure {
    Failure(.connectTimeout, stage: .input, detail: .usage(.waited, what))
  }
}
