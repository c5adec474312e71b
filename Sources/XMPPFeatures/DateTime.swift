import FoundationEssentials

/// Dates and times in the format of XMPP (XEP-0082). They are always in the Gregorian calendar, even before its
/// introduction (RFC 3339 §1).
public enum DateTime {
  /// The maximum length of a parsed text in octets.
  private static let maximumLength = 256

  /// `2026-11-21T02:42:13.123Z` (§3.2). Years are limited to 0001 to 9999.
  public static func text(_ date: Date) -> String {
    let since = (date.timeIntervalSince1970 * 1000).rounded(.down)
    let earliest = -62_135_596_800_000.0
    // With the operands in this order, NaN becomes the earliest time.
    let milliseconds = Int(since > earliest ? min(since, 253_402_300_799_999) : earliest)
    let (days, time) = quotient(milliseconds, 86_400_000)
    let day = GregorianDay(number: days)
    func padded(_ number: Int, _ width: Int) -> String {
      let digits = String(number)
      return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
    return padded(day.year, 4) + "-" + padded(day.month, 2) + "-" + padded(day.day, 2) + "T"
      + padded(time / 3_600_000, 2) + ":" + padded(time / 60_000 % 60, 2) + ":" + padded(time / 1000 % 60, 2)
      + "." + padded(time % 1000, 3) + "Z"
  }

  /// Parses a time of §3.2 with an optional fraction of a second and a time zone, in the years 0001 to 9999.
  ///
  /// Returns nil for any other text, such as one with an impossible day, the hour 25 or trailing characters.
  public static func date(_ text: String) -> Date? {
    let bytes = Array(text.utf8)
    guard (20...maximumLength).contains(bytes.count), fits(bytes[..<19], "dddd-dd-ddTdd:dd:dd") else {
      return nil
    }
    var rest = bytes[19...]
    var fraction: ArraySlice<UInt8> = []
    if rest.first == UInt8(ascii: ".") {
      fraction = rest.dropFirst().prefix(while: isDigit)
      guard !fraction.isEmpty else { return nil }
      rest = rest.dropFirst(1 + fraction.count)
    }
    guard let zone = offset(String(decoding: rest, as: UTF8.self)),
      number(bytes[11...12]) < 24, number(bytes[14...15]) < 60, number(bytes[17...18]) <= 60
    else { return nil }
    let day = GregorianDay(
      year: number(bytes[..<4]), month: number(bytes[5...6]), day: number(bytes[8...9]))
    // A day that the month lacks would become a day of the next month.
    guard day.year > 0, GregorianDay(number: day.number) == day else { return nil }
    let midnight = Date(timeIntervalSince1970: Double(day.number * 86_400))
    let seconds =
      number(bytes[11...12]) * 3600 + number(bytes[14...15]) * 60 + number(bytes[17...18]) - zone
    let part = fraction.prefix(9).reversed().reduce(0.0) { ($0 + Double($1 - UInt8(ascii: "0"))) / 10 }
    return midnight + (Double(seconds) + part)
  }

  /// Parses a time zone: `Z`, `+02:00`, `-07:30` (§3.2, §3.3). Returns its offset from UTC in seconds.
  public static func offset(_ text: String) -> Int? {
    if text == "Z" { return 0 }
    let bytes = Array(text.utf8)
    guard bytes.count == 6, fits(bytes[1...], "dd:dd"), number(bytes[1...2]) <= 14, number(bytes[4...5]) < 60
    else { return nil }
    let seconds = number(bytes[1...2]) * 3600 + number(bytes[4...5]) * 60
    switch bytes.first {
    case UInt8(ascii: "+"): return seconds
    case UInt8(ascii: "-"): return -seconds
    default: return nil
    }
  }

  /// The time zone with this offset in seconds, in the format of ``offset(_:)``.
  public static func zone(_ seconds: Int) -> String {
    if seconds == 0 { return "Z" }
    let minutes = abs(max(-50_400, min(50_400, seconds))) / 60
    func two(_ number: Int) -> String { (number < 10 ? "0" : "") + String(number) }
    return (seconds < 0 ? "-" : "+") + two(minutes / 60) + ":" + two(minutes % 60)
  }

  /// A quotient with a remainder that is not negative.
  private static func quotient(_ number: Int, _ divisor: Int) -> (Int, Int) {
    let (quotient, remainder) = number.quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }

  /// Whether the text has digits where the pattern has `d`, and otherwise equals the pattern.
  private static func fits(_ bytes: ArraySlice<UInt8>, _ pattern: StaticString) -> Bool {
    let pattern = pattern.withUTF8Buffer { Array($0) }
    return bytes.count == pattern.count
      && zip(bytes, pattern).allSatisfy { byte, wanted in
        wanted == UInt8(ascii: "d") ? isDigit(byte) : byte == wanted
      }
  }

  /// The number with these decimal digits.
  private static func number(_ digits: ArraySlice<UInt8>) -> Int {
    digits.reduce(0) { $0 * 10 + Int($1) - Int(UInt8(ascii: "0")) }
  }
}
