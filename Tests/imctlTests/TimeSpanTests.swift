import Testing

@testable import imctl

@Suite("Times on the command line")
struct TimeSpanTests {
  @Test(
    "A time span is a number with a unit, and a number without a unit means seconds.",
    arguments: [
      ("90s", 90), ("30m", 1_800), ("2h", 7_200), ("1d", 86_400), ("5", 5), ("1.5h", 5_400), ("0.25s", 0.25),
      (".5s", 0.5),
    ])
  func accepted(text: String, seconds: Double) {
    #expect(TimeSpan(argument: text)?.seconds == seconds)
  }

  @Test(
    "A time span that is invalid, empty or longer than a year is refused.",
    arguments: [
      "", "s", "0", "0s", "-1s", "+1s", "1 s", " 1s", "1s ", "1e3s", "1e400", "inf", "nan", "0x10", "1h30m",
      "1.s", ".", ".s", "1..5s", "9999999999999999999999h", "１s", "5y",
    ])
  func refused(text: String) {
    #expect(TimeSpan(argument: text) == nil)
  }

  @Test("A timeout may be 0, and may have a fraction.")
  func timeout() {
    #expect(Timeout(argument: "0")?.seconds == 0)
    #expect(Timeout(argument: "2.5")?.seconds == 2.5)
    #expect(Timeout(argument: ".5")?.seconds == 0.5)
    #expect(Timeout(argument: ".") == nil)
    #expect(Timeout(argument: "-1") == nil)
    #expect(Timeout(argument: "inf") == nil)
    #expect(Timeout(argument: "") == nil)
    #expect(Timeout(seconds: 30).defaultValueDescription == "30")
    #expect(Timeout(seconds: 0.5).defaultValueDescription == "0.5")
  }
}
