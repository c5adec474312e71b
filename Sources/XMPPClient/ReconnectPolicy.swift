/// Decides when to retry after a session was lost or an attempt has failed.
///
/// Pure. The pauses follow RFC 6120 §3.3: the first is random, so that the clients of a restarted server do not return
/// at once; it doubles up to a minute, and each pause is drawn from the upper half of its range.
public struct ReconnectPolicy: Sendable {
  /// What ended the stream or prevented it.
  public enum Cause: Sendable, CaseIterable {
    /// The link was lost.
    case link
    /// The server asks the client to reconnect, or to go to another host (RFC 6120 §4.9.3.16, §4.9.3.19).
    case reset
    /// The server closed the stream.
    case server
    /// The server has no resources for this client at present.
    case later
    /// The server asked for a slower pace.
    case rateLimit
  }

  /// The longest pause in seconds.
  public static let longest = 60.0
  public static let longestLater = 600.0
  public static let afterRateLimit = 300.0
  /// After this number of seconds online, the end of a session is unrelated to earlier ones.
  public static let settled = 60.0
  /// The number of seconds online that compensate for one link that was lost early.
  public static let secondsEachReturn = 2.0
  /// The number of accounts of one server that reconnect within a second.
  public static let accountsEachSecond = 100.0

  /// The number of links that may be lost early in a row and still be reconnected at once.
  private let quickReturns: Double

  /// - Parameter quickReturns: the number of links that may be lost early in a row and still be reconnected at once.
  public init(quickReturns: Double = 5) { self.quickReturns = quickReturns }

  /// The number of failed attempts, and of sessions that the server ended early, since the last stable session.
  public private(set) var attempts = 0

  /// The number of links that were lost early and not compensated by time online.
  private var shortLinks = 0.0

  /// Records the end of a session after a number of seconds online.
  ///
  /// A server that accepts sessions and ends them at once is contacted less and less often, even if it only cuts the
  /// connection. A link that breaks now and then is reconnected at once, a few times even if it breaks early.
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

  /// Forgets earlier failures.
  public mutating func restart() {
    attempts = 0
    shortLinks = 0
  }

  /// The seconds until the next attempt.
  ///
  /// - Parameter accounts: the number of this agent's accounts at the same server, over which attempts are spread.
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

  /// The seconds before the first attempt of an agent that has just started.
  public static func start(among accounts: Int, using generator: inout some RandomNumberGenerator) -> Double {
    Double.random(in: 0...spread(of: accounts), using: &generator)
  }

  /// The seconds over which the accounts are spread; 0 for a few accounts.
  private static func spread(of accounts: Int) -> Double {
    Double(accounts) <= accountsEachSecond / 10 ? 0 : Double(accounts) / accountsEachSecond
  }
}
