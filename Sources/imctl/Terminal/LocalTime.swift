import AgentProtocol
import FoundationEssentials
import Glibc

/// A time as text output shows it: in the time zone of the user, and without what is the same as today.
struct LocalTime {
  /// `14:03` for today, `Tue 14:03` for the six days before, and `2026-11-17 14:03` for any other day.
  let description: String

  /// - Parameters:
  ///   - text: RFC 3339, as the agent writes it. Any other text is shown unchanged.
  ///   - now: the current time.
  init(_ text: String, now: Date = Date()) {
    guard let date = Timestamp.date(text) else {
      description = "\(peer: text)"
      return
    }
    description = Self.text(of: Self.fields(of: date), now: Self.fields(of: now))
  }

  static func text(of time: tm, now: tm) -> String {
    let clock = "\(twoDigits(time.tm_hour)):\(twoDigits(time.tm_min))"
    switch day(of: now) - day(of: time) {
    case 0: return clock
    case 1...6: return "\(weekdays[Int(time.tm_wday)]) \(clock)"
    default:
      return "\(time.tm_year + 1900)-\(twoDigits(time.tm_mon + 1))-\(twoDigits(time.tm_mday)) \(clock)"
    }
  }

  private static var weekdays: [String] {
    inLanguage("Sun Mon Tue Wed Thu Fri Sat", "周日 周一 周二 周三 周四 周五 周六").split(separator: " ").map(String.init)
  }

  private static func fields(of date: Date) -> tm {
    var seconds = time_t(date.timeIntervalSince1970.rounded(.down))
    var fields = tm()
    localtime_r(&seconds, &fields)
    return fields
  }

  /// The number of the day in the calendar, which differs by 1 between midnights even if a day has 23 or 25 hours.
  private static func day(of time: tm) -> Int {
    var noon = tm()
    noon.tm_year = time.tm_year
    noon.tm_mon = time.tm_mon
    noon.tm_mday = time.tm_mday
    return timegm(&noon) / 86_400
  }

  private static func twoDigits(_ number: Int32) -> String { (number < 10 ? "0" : "") + String(number) }
}
