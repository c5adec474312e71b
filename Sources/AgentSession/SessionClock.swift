import FoundationEssentials
import XMPPClient

/// The clock of a session. Tests inject their own.
struct SessionClock: Sendable {
  /// Seconds since 1970.
  var now: @Sendable () -> Double = { Date().timeIntervalSince1970 }
  /// As ``ConnectionClock/uptime``.
  var uptime = ConnectionClock().uptime
  /// As ``ConnectionClock/sleep``.
  var sleep = ConnectionClock().sleep
}
