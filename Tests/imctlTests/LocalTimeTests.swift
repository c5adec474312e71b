import Glibc
import Testing

@testable import imctl

@Suite("Local times in text output")
struct LocalTimeTests {
  private static func fields(_ parts: [Int32]) -> tm {
    var fields = tm()
    (fields.tm_year, fields.tm_mon, fields.tm_mday) = (parts[0] - 1900, parts[1] - 1, parts[2])
    (fields.tm_hour, fields.tm_min) = (parts[3], parts[4])
    var copy = fields
    var seconds = timegm(&copy)
    gmtime_r(&seconds, &copy)
    fields.tm_wday = copy.tm_wday
    return fields
  }

  @Test(
    "A time has no date on the same day, the weekday on the six days before, and otherwise the date.",
    arguments: [
      ([2026, 11, 24, 0, 0], "00:00"), ([2026, 11, 24, 23, 59], "23:59"),
      ([2026, 11, 23, 23, 59], "Mon 23:59"), ([2026, 11, 18, 9, 5], "Wed 09:05"),
      ([2026, 11, 17, 14, 3], "2026-11-17 14:03"), ([2026, 11, 25, 8, 0], "2026-11-25 08:00"),
      ([2025, 11, 24, 8, 0], "2025-11-24 08:00"),
    ] as [([Int32], String)])
  func text(time: [Int32], expected: String) {
    #expect(LocalTime.text(of: Self.fields(time), now: Self.fields([2026, 11, 24, 14, 3])) == expected)
  }

  @Test("A text that is no time is shown unchanged, with control characters escaped.")
  func other() {
    #expect(LocalTime("soon\u{1b}").description == "soon\\x1b")
  }
}
