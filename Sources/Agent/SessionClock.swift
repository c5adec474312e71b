import FoundationEssentials
import XMPPClient

/// The time of a session, and how it waits: a test has its own.
struct SessionClock: Sendable {
  /// Seconds since 1970.
  var now: @Sendable () -> Double = { Date().timeIntervalSince1970 }
  /// As ``ConnectionClock/uptime``.
  var uptime = ConnectionClock().uptime
  /// As ``ConnectionClock/sleep``.
  var sleep = ConnectionClock().sleep
}
