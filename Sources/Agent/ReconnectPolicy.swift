import AgentProtocol

/// Whether and when a session that was lost, or could not be had, is tried again.
///
/// Pure. The pauses are those of RFC 6120 §3.3: the first is random, so that the clients of a server that restarts do
/// not come back at once; it doubles up to a minute, and each is drawn from the upper half of its range.
struct ReconnectPolicy: Sendable {
  /// What ended the stream, or kept it from starting.
  enum Cause: Sendable {
    /// The link was lost, or the server wants it made anew: it may still be there.
    case link
    /// The server closed the stream.
    case server
    /// The server asked for a slower pace.
    case rateLimit
  }

  static let longest = 60.0
  static let afterRateLimit = 300.0

  /// Failed attempts since the session was last online.
  private(set) var attempts = 0

  /// Attempts that were granted again, as far as they count.
  private(set) var retries = 0

  mutating func succeeded() {
    attempts = 0
    retries = 0
  }

  /// A login by hand begins: its retries are its own.
  mutating func begin() { retries = 0 }

  /// Whether there is to be another attempt.
  ///
  /// - Parameters:
  ///   - limit: how many there may be after the first; nil: without end.
  ///   - isCounted: whether the one that has failed counts.
  mutating func grantsRetry(limit: Int?, isCounted: Bool) -> Bool {
    if let limit, isCounted {
      guard retries < limit else { return false }
      retries += 1
    }
    return true
  }

  /// Seconds until the next attempt.
  mutating func pause(after cause: Cause, using generator: inout some RandomNumberGenerator) -> Double {
    defer { attempts += 1 }
    if cause == .rateLimit { return Double.random(in: 1...1.2, using: &generator) * Self.afterRateLimit }
    let first = cause == .link ? 1.0 : 10.0
    if attempts == 0 { return Double.random(in: 0...first, using: &generator) }
    let range = min(Self.longest, first * Double(sign: .plus, exponent: min(attempts, 10), significand: 1))
    return Double.random(in: range / 2...range, using: &generator)
  }

  static func cause(of failure: Failure) -> Cause {
    if failure.name == .rateLimited { return .rateLimit }
    // A server that runs on asks this client alone to come back (RFC 6120 §4.9.3.16).
    return failure.condition == nil || failure.condition == "reset" ? .link : .server
  }

  /// A running session that ended so is not taken back: someone else decided that it is over.
  ///
  /// Anything else may be a passing fault, also what the peer sent wrong: who can make a server send one bad stanza
  /// must not be able to log its users out.
  static func ends(_ failure: Failure) -> Bool {
    guard let row = FailureTable[failure.name] else { return false }
    return row.retry == .stop || row.clears == .isLogin || row.clears == .secret
  }

  /// A login whose user waits for as long as it takes goes on after this.
  static func triesAgain(after failure: Failure) -> Bool {
    FailureTable[failure.name]?.retry.retries(automatic: true) == true
  }

  /// A session that was online before goes on trying after this: also where a network shows a certificate of its own
  /// until its terms are accepted, and where a command has no secret to give just now.
  static func comesBack(after failure: Failure) -> Bool {
    triesAgain(after: failure) || failure.name == .tlsFailure
      || (failure.name == .credentialSourceFailed && failure.stage == .authenticate)
  }
}
