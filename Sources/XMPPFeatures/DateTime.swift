import FoundationEssentials

/// Dates and times as XMPP writes them (XEP-0082).
public enum DateTime {
  /// `2026-11-21T02:42:13.123Z` (§3.2).
  public static func text(_ date: Date) -> String {
    date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
  }

  /// A time of §3.2, with a fraction of a second or without one, in UTC or beside it: of the years 0001 to 9999.
  ///
  /// Nil for what is none: a day that no month has, the hour 25, more behind it.
  public static func date(_ text: String) -> Date? {
    let bytes = Array(text.utf8)
    guard (20...40).contains(bytes.count), fits(bytes[..<19], "dddd-dd-ddTdd:dd:dd") else { return nil }
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
    // A day that its month does not have would be one of the next.
    let day = String(decoding: bytes[..<10], as: UTF8.self)
    guard let midnight = try? Date(day + "T00:00:00Z", strategy: .iso8601),
      Self.text(midnight).hasPrefix(day)
    else { return nil }
    let seconds =
      number(bytes[11...12]) * 3600 + number(bytes[14...15]) * 60 + number(bytes[17...18]) - zone
    let part = fraction.prefix(9).reversed().reduce(0.0) { ($0 + Double($1 - UInt8(ascii: "0"))) / 10 }
    return midnight + (Double(seconds) + part)
  }

  /// Seconds that a time zone is ahead of UTC: `Z`, `+02:00`, `-07:30` (§3.2, §3.3).
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

  /// The time zone of so many seconds, as ``offset(_:)`` reads it.
  public static func zone(_ seconds: Int) -> String {
    if seconds == 0 { return "Z" }
    let minutes = abs(max(-50_400, min(50_400, seconds))) / 60
    func two(_ number: Int) -> String { (number < 10 ? "0" : "") + String(number) }
    return (seconds < 0 ? "-" : "+") + two(minutes / 60) + ":" + two(minutes % 60)
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }

  /// Whether there is a digit where the pattern has a `d`, and else what the pattern has.
  private static func fits(_ bytes: ArraySlice<UInt8>, _ pattern: StaticString) -> Bool {
    let pattern = pattern.withUTF8Buffer { Array($0) }
    return bytes.count == pattern.count
      && zip(bytes, pattern).allSatisfy { byte, wanted in
        wanted == UInt8(ascii: "d") ? isDigit(byte) : byte == wanted
      }
  }

  /// The number of a few digits.
  private static func number(_ digits: ArraySlice<UInt8>) -> Int {
    digits.reduce(0) { $0 * 10 + Int($1) - Int(UInt8(ascii: "0")) }
  }
}
