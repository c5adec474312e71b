import FoundationEssentials
import XMPPFeatures

/// The clock of a server: its last answer, carried forward by a monotonic clock.
struct ServerClock: Sendable, Equatable {
  /// Seconds for which an answer is used without asking again.
  static let freshness = 60.0

  /// Seconds since 1970 at ``asked``.
  private let time: Double
  /// The seconds of a monotonic clock at the time of the answer.
  private let asked: Double
  /// Seconds that the server's time zone is ahead of UTC.
  let offset: Int

  /// - Parameters:
  ///   - sent: the monotonic time of the request, and `received` that of the answer. The server read its clock between
  ///     the two.
  init(_ answer: EntityTime, sent: Double, received: Double) {
    time = answer.utc.timeIntervalSince1970
    asked = (sent + received) / 2
    offset = answer.offset
  }

  func time(at uptime: Double) -> Double { time + age(at: uptime) }
  func age(at uptime: Double) -> Double { max(0, uptime - asked) }
  func isFresh(at uptime: Double) -> Bool { age(at: uptime) < Self.freshness }
}
