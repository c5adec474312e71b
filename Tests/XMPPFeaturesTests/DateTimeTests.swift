import FoundationEssentials
import Testing

@testable import XMPPFeatures

@Suite("A date and time of XMPP")
struct DateTimeTests {
  @Test(
    "is read with and without a fraction, in UTC and beside it.",
    arguments: [
      ("1969-07-21T02:56:15Z", -14_159_025.0), ("1969-07-20T21:56:15-05:00", -14_159_025),
      ("2026-11-21T12:00:00.5Z", 1_795_262_400.5), ("2026-11-21T12:00:00.123456Z", 1_795_262_400.123456),
      ("2026-11-21T12:00:00.000000000000Z", 1_795_262_400), ("2026-11-21T14:00:00+02:00", 1_795_262_400),
      ("2024-02-29T00:00:00Z", 1_709_164_800), ("2016-12-31T23:59:60Z", 1_483_228_800),
      ("0001-01-01T00:00:00Z", -62_135_769_600), ("9999-12-31T23:59:59Z", 253_402_300_799),
    ])
  func valid(text: String, seconds: Double) throws {
    let date = try #require(DateTime.date(text))
    #expect(abs(date.timeIntervalSince1970 - seconds) < 0.000_001)
  }

  @Test(
    "is none where it could not be one.",
    arguments: [
      "", "292277026596-01-01T00:00:00Z", "99999-01-01T00:00:00Z", "-0001-01-01T00:00:00Z",
      "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "2025-02-29T00:00:00Z", "2026-11-21T24:00:00Z",
      "2026-11-21T12:60:00Z", "2026-11-21T12:00:61Z", "2026-11-21T12:00:00", "2026-11-21T12:00:00Zjunk",
      "2026-11-21T12:00:00.Z", "2026-11-21T12:00:00+15:00", "2026-11-21T12:00:00+0200", "20261121T12:00:00Z",
      " 2026-11-21T12:00:00Z", "2026-11-21 12:00:00Z", "2026-11-21T12:00:00.99999999999999999999999Z",
      "２026-11-21T12:00:00Z", "2026-11-21T12:00:00𝟙",
    ])
  func invalid(text: String) { #expect(DateTime.date(text) == nil) }

  @Test("and its time zone are written as they are read.")
  func written() {
    #expect(
      DateTime.text(Date(timeIntervalSince1970: 1_795_262_400.25)) == "2026-11-21T12:00:00.250Z")
    for zone in ["Z", "+02:00", "-07:30", "+14:00"] {
      #expect(DateTime.offset(zone).map(DateTime.zone) == zone)
    }
    for text in ["", "+2:00", "+15:00", "-00:60", "02:00", "+0a:00", "z"] {
      #expect(DateTime.offset(text) == nil, "\(text)")
    }
    #expect(DateTime.zone(.max) == "+14:00" && DateTime.zone(.min) == "-14:00")
  }
}
