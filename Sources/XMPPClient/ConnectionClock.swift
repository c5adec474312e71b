/// The time by which a client pauses: a test has its own.
public struct ConnectionClock: Sendable {
  /// Seconds of a clock that is never set, and goes on while the machine sleeps.
  public var uptime: @Sendable () -> Double = { (ContinuousClock.now - start) / .seconds(1) }
  /// Waits so many seconds, or throws where the task is cancelled.
  public var sleep: @Sendable (Double) async throws -> Void = { try await Task.sleep(for: .seconds($0)) }

  private static let start = ContinuousClock.now

  public init() {}
}
