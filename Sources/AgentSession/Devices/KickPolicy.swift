import AgentProtocol

/// Decides what a session does after another client has ended it.
///
/// Pure. Each reconnection waits longer than the one before. After ``limit`` kicks less than ``calm`` apart the session
/// gives up, so that one of several clients that fight for a resource remains.
struct KickPolicy: Sendable, Equatable {
  enum Answer: Sendable, Equatable {
    case stop
    /// Reconnect after this number of seconds.
    case comeBack(after: Double, newResource: Bool)
  }

  /// The number of consecutive kicks after which the session reconnects.
  static let limit = 3
  /// Two kicks that are at least this many seconds apart are unrelated.
  static let calm = 3600.0
  /// The upper bound of the first pause, in seconds; each pause is twice as long as the one before.
  static let first = 5.0

  /// The number of consecutive kicks.
  private(set) var kicks = 0
  private var last: Double?

  /// Resets the count when the user logs in by hand.
  mutating func begin() { (kicks, last) = (0, nil) }

  /// - Parameter now: the seconds of a monotonic clock.
  mutating func answer(
    _ wish: OnKick, at now: Double, using generator: inout some RandomNumberGenerator
  ) -> Answer {
    if let last, now - last >= Self.calm { kicks = 0 }
    last = now
    guard wish != .stop, kicks < Self.limit else { return .stop }
    let range = Self.first * Double(1 << kicks)
    kicks += 1
    // A client that was replaced must not reconnect blindly (RFC 6120 §4.9.3.3).
    return .comeBack(
      after: Double.random(in: range / 2...range, using: &generator), newResource: wish == .reconnect)
  }
}
