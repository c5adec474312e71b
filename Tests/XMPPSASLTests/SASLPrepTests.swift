import Testing

@testable import XMPPSASL

struct SASLPrepTests {
  private func prepare(_ text: String, for use: SASLPrep.Use = .stored) throws -> String? {
    try SASLPrep.prepare(text, for: use).map { String(decoding: $0, as: UTF8.self) }
  }

  @Test(
    "The examples of RFC 4013 §3 are prepared as query strings and as stored strings.",
    arguments: [
      ("I\u{AD}X", "IX"), ("user", "user"), ("USER", "USER"), ("\u{AA}", "a"), ("\u{2168}", "IX"),
      ("\u{7}", nil), ("\u{627}\u{31}", nil),
    ] as [(String, String?)])
  func rfc4013(text: String, prepared: String?) throws {
    #expect(try prepare(text, for: .stored) == prepared)
    #expect(try prepare(text, for: .query) == prepared)
  }

  @Test(
    "The OpaqueString examples of RFC 8265 §4.3 have the same result with SASLprep.",
    arguments: [
      ("correct horse battery staple", "correct horse battery staple"),
      ("Correct Horse Battery Staple", "Correct Horse Battery Staple"),
      ("πßå", "πßå"), ("Jack of ♦s", "Jack of ♦s"), ("foo\u{1680}bar", "foo bar"),
      ("", ""), ("my cat is a \tby", nil),
    ] as [(String, String?)])
  func rfc8265(text: String, prepared: String?) throws {
    #expect(try prepare(text) == prepared)
  }

  @Test(
    "SASLprep folds compatibility characters that PRECIS keeps, as SCRAM demands.",
    arguments: [("ｐａｓｓ", "pass"), ("ﬁve", "five"), ("①", "1"), ("e\u{301}", "\u{E9}"), ("x\u{A0}y", "x y")])
  func compatibility(text: String, prepared: String) throws {
    #expect(try SASLPrep.prepare(text, for: .stored) == bytes(prepared))
  }

  @Test(
    "A character that Unicode 3.2 did not have is accepted in a query and refused in a stored string.",
    arguments: ["\u{221}", "\u{1F511}", "key\u{1F511}"])
  func unassigned(text: String) throws {
    #expect(try prepare(text, for: .query) == text)
    #expect(try prepare(text, for: .stored) == nil)
  }

  @Test(
    "Control, private-use, tag and bidirectional control characters are refused.",
    arguments: ["\0", "a\u{7F}", "\u{80}", "\u{E000}", "\u{FFFD}", "\u{202E}abc", "\u{E0041}"])
  func prohibited(text: String) throws {
    #expect(try prepare(text) == nil)
    #expect(try prepare(text, for: .query) == nil)
  }

  @Test("A prepared string may be much longer than its source.")
  func expansion() throws {
    let prepared = try #require(try prepare(String(repeating: "\u{FDFA}", count: 500)))
    #expect(prepared.unicodeScalars.count == 9000)
  }

  @Test("A text beyond the length limit of SASLprep is refused.")
  func length() throws {
    #expect(try prepare(String(repeating: "ß", count: SASLPrep.limit)) != nil)
    #expect(try prepare(String(repeating: "ß", count: SASLPrep.limit + 1)) == nil)
  }

  @Test("A string that consists of invisible characters is prepared to the empty string.")
  func nothingLeft() throws {
    #expect(try prepare("\u{AD}\u{2060}\u{FE0F}") == "")
  }
}
