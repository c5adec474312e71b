import ArgumentParser
import FoundationEssentials
import Glibc

/// A time as users write it: RFC 3339 (`2026-11-21T14:00:00Z`), a day (`2026-11-21`, its beginning in the local time
/// zone), or a time span before now (`90s`, `30m`, `2h`, `7d`).
struct PointInTime: ExpressibleByArgument, Equatable, Sendable {
  /// Seconds since 1970.
  var seconds: Double

  init?(argument: String) { self.init(argument, now: Self.now) }

  /// Seconds since 1970.
  static var now: Double { Date().timeIntervalSince1970 }

  init?(_ text: String, now: Double) {
    if let last = text.last, "smhd".contains(last), let span = TimeSpan(argument: text) {
      seconds = now - span.seconds
    } else if let day = Self.day(text) {
      seconds = day
    } else if let date = Self.date(text) {
      seconds = date.timeIntervalSince1970
    } else {
      return nil
    }
  }

  private static func date(_ text: String) -> Date? {
    guard text.utf8.count <= 40 else { return nil }
    return (try? Date(text, strategy: .iso8601))
      ?? (try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
  }

  private static func day(_ text: String) -> Double? {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.map(\.utf8.count) == [4, 2, 2],
      text.utf8.allSatisfy({ $0 == 0x2d || (0x30...0x39).contains($0) }),
      let year = Int32(parts[0]), let month = Int32(parts[1]), let day = Int32(parts[2])
    else { return nil }
    var time = tm()
    (time.tm_year, time.tm_mon, time.tm_mday, time.tm_isdst) = (year - 1900, month - 1, day, -1)
    let seconds = mktime(&time)
    // `mktime` turns a day such as February 30 into another one.
    guard time.tm_mon == month - 1, time.tm_mday == day else { return nil }
    return Double(seconds)
  }
}
