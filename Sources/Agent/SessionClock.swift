import FoundationEssentials

/// The time of a session, and how it waits: a test has its own.
struct SessionClock: Sendable {
  /// Seconds since 1970.
  var now: @Sendable () -> Double = { Date().timeIntervalSince1970 }
  /// Seconds of a clock that is never set, and goes on while the machine sleeps.
  var uptime: @Sendable () -> Double = { (ContinuousClock.now - start) / .seconds(1) }
  /// Waits so many seconds, or throws where the task is cancelled.
  var sleep: @Sendable (Double) async throws -> Void = { try await Task.sleep(for: .seconds($0)) }

  private static let start = ContinuousClock.now
}
