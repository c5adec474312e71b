import AgentProtocol

/// What a session does that somebody else ended.
///
/// Pure. Whoever comes back waits longer every time, and after ``limit`` kicks that follow each other within
/// ``calm`` gives up: of clients that fight for one resource or one place, one is left.
struct KickPolicy: Sendable, Equatable {
  enum Answer: Sendable, Equatable {
    case stop
    /// Comes back after so many seconds.
    case comeBack(after: Double, newResource: Bool)
  }

  /// Kicks in a row that are answered.
  static let limit = 3
  /// Seconds between two kicks that have nothing to do with each other.
  static let calm = 3600.0
  /// Seconds of the first pause at most; each is twice the one before.
  static let first = 5.0

  /// Kicks in a row.
  private(set) var kicks = 0
  private var last: Double?

  /// The user logged in by hand.
  mutating func begin() { (kicks, last) = (0, nil) }

  /// - Parameter now: seconds of a clock that is never set back.
  mutating func answer(
    _ wish: OnKick, at now: Double, using generator: inout some RandomNumberGenerator
  ) -> Answer {
    if let last, now - last >= Self.calm { kicks = 0 }
    last = now
    guard wish != .stop, kicks < Self.limit else { return .stop }
    let range = Self.first * Double(1 << kicks)
    kicks += 1
    // Who was replaced is not to come back blindly (RFC 6120 §4.9.3.3).
    return .comeBack(
      after: Double.random(in: range / 2...range, using: &generator), newResource: wish == .reconnect)
  }
}
