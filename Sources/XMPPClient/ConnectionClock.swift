/// The clock by which a client pauses. Tests inject their own.
public struct ConnectionClock: Sendable {
  /// The seconds of a monotonic clock that continues while the machine sleeps.
  public var uptime: @Sendable () -> Double = { (ContinuousClock.now - start) / .seconds(1) }
  /// Waits for a number of seconds, or throws when the task is cancelled.
  public var sleep: @Sendable (Double) async throws -> Void = { try await Task.sleep(for: .seconds($0)) }

  private static let start = ContinuousClock.now

  public init() {}
}
