import AgentProtocol
import NIOCore

/// Divides the time limit of a logout among its steps, so that the caller receives the result in time.
struct LogoutTime: Sendable {
  /// The time in which a server should end the stream, in seconds.
  private static let patience = 5.0

  /// The time limit in seconds; 0: none.
  private let limit: Double
  private let start: ContinuousClock.Instant

  /// - Parameter limit: The time limit in seconds from now; 0: none.
  init(limit: Double, from start: ContinuousClock.Instant = .now) {
    self.limit = limit
    self.start = start
  }

  /// The seconds for the acknowledgements of messages: at most half of the remaining time.
  func flush(_ wanted: Double, at now: ContinuousClock.Instant = .now) -> Double {
    part(0.5, of: wanted, at: now)
  }

  /// The time for the server to end the stream.
  func close(at now: ContinuousClock.Instant = .now) -> TimeAmount {
    .nanoseconds(Int64(part(0.6, of: Self.patience, at: now) * 1e9))
  }

  /// The seconds for the server to revoke a token.
  func revocation(_ wanted: Double, at now: ContinuousClock.Instant = .now) -> Double {
    part(0.8, of: wanted, at: now)
  }

  private func part(_ part: Double, of wanted: Double, at now: ContinuousClock.Instant) -> Double {
    guard limit > 0 else { return wanted }
    return min(wanted, max(0.05, (limit - start.duration(to: now) / .seconds(1)) * part))
  }
}
