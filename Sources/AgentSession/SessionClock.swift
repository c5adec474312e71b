import FoundationEssentials
import XMPPClient

/// The clock of a session. Tests inject their own.
struct SessionClock: Sendable {
  /// Seconds since 1970.
  var now: @Sendable () -> Double = { Date().timeIntervalSince1970 }
  /// The same as ``ConnectionClock/uptime``.
  var uptime = ConnectionClock().uptime
  /// The same as ``ConnectionClock/sleep``.
  var sleep = ConnectionClock().sleep
}
