import AgentProtocol
import NIOCore

/// How a logout divides the time for which its caller waits, so that the caller hears of its end.
struct LogoutTime: Sendable {
  /// How long a server may take to end the stream.
  private static let patience = 5.0

  /// Bound in seconds; 0: none.
  private let limit: Double
  private let start: ContinuousClock.Instant

  /// - Parameter limit: seconds from now on; 0: no bound.
  init(limit: Double, from start: ContinuousClock.Instant = .now) {
    self.limit = limit
    self.start = start
  }

  /// Seconds for the acknowledgements of messages: what is wanted, where at least as much is left for the rest.
  func flush(_ wanted: Double, at now: ContinuousClock.Instant = .now) -> Double {
    part(0.5, of: wanted, at: now)
  }

  /// For the server to end the stream.
  func close(at now: ContinuousClock.Instant = .now) -> TimeAmount {
    .nanoseconds(Int64(part(0.6, of: Self.patience, at: now) * 1e9))
  }

  /// Seconds for the server to forget a token.
  func revocation(_ wanted: Double, at now: ContinuousClock.Instant = .now) -> Double {
    part(0.8, of: wanted, at: now)
  }

  private func part(_ part: Double, of wanted: Double, at now: ContinuousClock.Instant) -> Double {
    guard limit > 0 else { return wanted }
    return min(wanted, max(0.05, (limit - start.duration(to: now) / .seconds(1)) * part))
  }
}
