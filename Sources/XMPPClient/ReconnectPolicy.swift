/// Whether and when a session that was lost, or could not be had, is tried again.
///
/// Pure. The pauses are those of RFC 6120 §3.3: the first is random, so that the clients of a server that restarts do
/// not come back at once; it doubles up to a minute, and each is drawn from the upper half of its range.
public struct ReconnectPolicy: Sendable {
  /// What ended the stream, or kept it from starting.
  public enum Cause: Sendable, CaseIterable {
    /// The link was lost.
    case link
    /// The server runs on and asks this client to come back, or to go elsewhere (RFC 6120 §4.9.3.16, §4.9.3.19).
    case reset
    /// The server closed the stream.
    case server
    /// There is no place for this client just now.
    case later
    /// The server asked for a slower pace.
    case rateLimit
  }

  /// Seconds.
  public static let longest = 60.0
  public static let longestLater = 600.0
  public static let afterRateLimit = 300.0
  /// Seconds online after which the end of a session has nothing to do with the one before.
  public static let settled = 60.0
  /// Seconds online that make one link good that was lost soon.
  public static let secondsEachReturn = 2.0
  /// Accounts of one server that come back within a second.
  public static let accountsEachSecond = 100.0

  /// Links that may be lost one soon after the other and taken up again at once.
  private let quickReturns: Double

  /// - Parameter quickReturns: links that may be lost one soon after the other and taken up again at once.
  public init(quickReturns: Double = 5) { self.quickReturns = quickReturns }

  /// Failed attempts, and sessions that the server ended soon, since the session was last well.
  public private(set) var attempts = 0

  /// Links that were lost soon, as far as no time online has made them good.
  private var shortLinks = 0.0

  /// A session ended that was online for so many seconds.
  ///
  /// A server that lets everybody in and throws them out at once is asked ever more slowly, be it that it cuts the
  /// connection. A link that breaks now and then is taken up at once, a few times also where it breaks soon.
  public mutating func lost(after seconds: Double, _ cause: Cause) {
    if seconds >= Self.settled {
      attempts = 0
      shortLinks = 0
    } else if cause == .link {
      shortLinks = max(0, shortLinks - max(0, seconds) / Self.secondsEachReturn)
      if shortLinks < quickReturns { attempts = 0 }
      shortLinks += 1
    }
  }

  /// What has failed before says nothing any more.
  public mutating func restart() {
    attempts = 0
    shortLinks = 0
  }

  /// Seconds until the next attempt.
  ///
  /// - Parameter accounts: how many of this agent are at the same server: the more, the wider they spread.
  public mutating func pause(
    after cause: Cause, among accounts: Int = 1, using generator: inout some RandomNumberGenerator
  ) -> Double {
    defer { attempts += 1 }
    let crowd = Self.spread(of: accounts)
    let longest = cause == .later ? Self.longestLater : max(Self.longest, crowd)
    let first: Double
    switch cause {
    case .rateLimit: return Double.random(in: 1...1.2, using: &generator) * Self.afterRateLimit + crowd
    case .reset where attempts == 0: return Double.random(in: 0...crowd, using: &generator)
    case .link, .reset: first = max(1, crowd)
    case .server: first = max(10, crowd)
    case .later: first = 60
    }
    if attempts == 0, cause != .later { return Double.random(in: 0...first, using: &generator) }
    let range = min(longest, first * Double(sign: .plus, exponent: min(attempts, 10), significand: 1))
    return Double.random(in: range / 2...range, using: &generator)
  }

  /// Seconds before the first attempt of an agent that has just started.
  public static func start(among accounts: Int, using generator: inout some RandomNumberGenerator) -> Double {
    Double.random(in: 0...spread(of: accounts), using: &generator)
  }

  /// Seconds over which so many accounts spread; a few need none.
  private static func spread(of accounts: Int) -> Double {
    Double(accounts) <= accountsEachSecond / 10 ? 0 : Double(accounts) / accountsEachSecond
  }
}
