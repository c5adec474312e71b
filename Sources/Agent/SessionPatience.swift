import Glibc
import NIOCore

/// How long a session waits for what may never come.
struct SessionPatience: Sendable {
  /// A stream on which nothing was received for so long is asked whether the server is still there.
  var keepAlive = TimeAmount.seconds(60)
  /// Seconds for an attempt that nobody waits for.
  var attempt = 30.0
  /// Seconds for which a new session waits for what it brings into step, where nothing of it comes.
  var silence = 5.0

  /// How many links that break soon are taken up at once.
  var quickReturns = 5.0

  /// In a debug build the variable `IMCTL_TEST_PATIENCE` may give the first two, in seconds, and the last: `1.5,4,100`.
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
