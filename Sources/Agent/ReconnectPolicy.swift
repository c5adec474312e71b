/// How long to wait before the next attempt (RFC 6120 §3.3).
///
/// The first pause is random, so that the clients of a server that restarts do not come back at once; it doubles
/// up to a minute, and each pause is drawn from the upper half of its range.
struct ReconnectPolicy: Sendable {
  /// What ended the stream, or kept it from starting.
  enum Cause: Sendable {
    /// The link was lost: the server may still be there.
    case link
    /// The server closed the stream or could not be reached.
    case server
    /// The server asked for a slower pace.
    case rateLimit
  }

  static let longest = 60.0
  static let afterRateLimit = 300.0

  /// Failed attempts since the session was last online.
  private(set) var attempts = 0

  mutating func succeeded() { attempts = 0 }

  /// Seconds until the next attempt.
  mutating func pause(after cause: Cause, using generator: inout some RandomNumberGenerator) -> Double {
    defer { attempts += 1 }
    if cause == .rateLimit { return Double.random(in: 1...1.2, using: &generator) * Self.afterRateLimit }
    let first = cause == .link ? 1.0 : 10.0
    if attempts == 0 { return Double.random(in: 0...first, using: &generator) }
    let range = min(Self.longest, first * Double(sign: .plus, exponent: min(attempts, 10), significand: 1))
    return Double.random(in: range / 2...range, using: &generator)
  }
}
