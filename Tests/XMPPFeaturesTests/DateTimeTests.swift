import FoundationEssentials
import Testing

@testable import XMPPFeatures

@Suite("Dates and times of XMPP")
struct DateTimeTests {
  @Test(
    "A date and time is read with and without a fraction of a second, in UTC and in other time zones.",
    arguments: [
      ("1969-07-21T02:56:15Z", -14_159_025.0), ("1969-07-20T21:56:15-05:00", -14_159_025),
      ("2026-11-21T12:00:00.5Z", 1_795_262_400.5), ("2026-11-21T12:00:00.123456Z", 1_795_262_400.123456),
      ("2026-11-21T12:00:00.000000000000Z", 1_795_262_400), ("2026-11-21T14:00:00+02:00", 1_795_262_400),
      ("2024-02-29T00:00:00Z", 1_709_164_800), ("2016-12-31T23:59:60Z", 1_483_228_800),
      ("0001-01-01T00:00:00Z", -62_135_596_800), ("9999-12-31T23:59:59Z", 253_402_300_799),
      ("1582-10-10T00:00:00Z", -12_219_724_800), ("1500-02-28T12:00:00Z", -14_826_715_200),
      ("2026-11-21T12:00:00.1234567890Z", 1_795_262_400.123456789),
      ("2026-11-21T14:00:00.50000000000000000000000000000000+02:00", 1_795_262_400.5),
    ])
  func valid(text: String, seconds: Double) throws {
    let date = try #require(DateTime.date(text))
    #expect(abs(date.timeIntervalSince1970 - seconds) < 0.000_001)
  }

  @Test(
    "A text that is not a valid date and time is refused.",
    arguments: [
      "", "292277026596-01-01T00:00:00Z", "99999-01-01T00:00:00Z", "-0001-01-01T00:00:00Z",
      "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "2025-02-29T00:00:00Z", "2026-11-21T24:00:00Z",
      "2026-11-21T12:60:00Z", "2026-11-21T12:00:61Z", "2026-11-21T12:00:00", "2026-11-21T12:00:00Zjunk",
      "2026-11-21T12:00:00.Z", "2026-11-21T12:00:00+15:00", "2026-11-21T12:00:00+0200", "20261121T12:00:00Z",
      " 2026-11-21T12:00:00Z", "2026-11-21 12:00:00Z", "2026-00-01T00:00:00Z", "2026-01-00T00:00:00Z",
      "1500-02-29T00:00:00Z", "0000-01-01T00:00:00Z",
      "2026-11-21T12:00:00." + String(repeating: "9", count: 300) + "Z",
      "２026-11-21T12:00:00Z", "2026-11-21T12:00:00𝟙",
    ])
  func invalid(text: String) { #expect(DateTime.date(text) == nil) }

  @Test("A date and time, and its time zone, are written so that they are read back unchanged.")
  func written() {
    #expect(
      DateTime.text(Date(timeIntervalSince1970: 1_795_262_400.25)) == "2026-11-21T12:00:00.250Z")
    for day in ["0001-01-01", "0004-02-29", "1500-02-28", "1582-10-04", "1969-12-31", "9999-12-31"] {
      for text in [day + "T00:00:00.000Z", day + "T23:59:59.500Z"] {
        #expect(DateTime.date(text).map(DateTime.text) == text)
      }
    }
    #expect(DateTime.text(Date(timeIntervalSince1970: 1e300)) == "9999-12-31T23:59:59.999Z")
    #expect(DateTime.text(Date(timeIntervalSince1970: -.infinity)) == "0001-01-01T00:00:00.000Z")
    for zone in ["Z", "+02:00", "-07:30", "+14:00"] {
      #expect(DateTime.offset(zone).map(DateTime.zone) == zone)
    }
    for text in ["", "+2:00", "+15:00", "-00:60", "02:00", "+0a:00", "z"] {
      #expect(DateTime.offset(text) == nil, "\(text)")
    }
    #expect(DateTime.zone(.max) == "+14:00" && DateTime.zone(.min) == "-14:00")
  }
}
