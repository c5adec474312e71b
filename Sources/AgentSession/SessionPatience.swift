import Glibc
import NIOCore

/// The time limits of a session.
struct SessionPatience: Sendable {
  /// After this time without input on a stream, the session asks the server for a sign of life.
  var keepAlive = TimeAmount.seconds(60)
  /// The time limit, in seconds, of a login attempt for which no command waits.
  var attempt = 30.0
  /// Seconds without any progress after which a new session stops waiting for its synchronisation.
  var silence = 5.0

  /// How many connections that break early are replaced at once.
  var quickReturns = 5.0

  /// In debug builds, the variable `IMCTL_TEST_PATIENCE` sets `keepAlive` and `attempt` in seconds, then
  /// `quickReturns`: `1.5,4,100`.
  static let standard: Self = {
    var patience = Self()
    #if DEBUG
      let numbers = getenv("IMCTL_TEST_PATIENCE").map { String(cString: $0).split(separator: ",") } ?? []
      let seconds = numbers.compactMap { Double($0) }.filter { $0 > 0 && $0 < 3600 }
      if seconds.count >= 2 {
        patience.keepAlive = .nanoseconds(Int64(seconds[0] * 1e9))
        patience.attempt = seconds[1]
        if seconds.count > 2 { patience.quickReturns = seconds[2] }
      }
    #endif
    return patience
  }()
}
