import Testing

@testable import imctl

@Suite("Text of somebody else")
struct TerminalTextTests {
  @Test(
    "What a terminal would obey is shown as an escape.",
    arguments: [
      ("\u{1b}[2J", #"\x1b[2J"#), ("\u{1b}]8;;http://x\u{7}y", #"\x1b]8;;http://x\x07y"#),
      ("\u{9b}31m", #"\x9b31m"#), ("a\rb\nc\td", #"a\rb\nc\td"#), ("\0", #"\x00"#), ("\u{7f}", #"\x7f"#),
      ("\u{202e}gpj.exe", #"\u{202e}gpj.exe"#), ("\u{2066}x\u{2069}", #"\u{2066}x\u{2069}"#),
      ("a\u{200b}b\u{200d}c\u{feff}", #"a\u{200b}b\u{200d}c\u{feff}"#), ("\u{ad}", #"\xad"#),
      ("\u{2028}\u{2029}", #"\u{2028}\u{2029}"#), ("\u{e0041}", #"\u{e0041}"#), ("\u{3164}", #"\u{3164}"#),
      ("\r\n", #"\r\n"#), ("\u{85}", #"\x85"#),
    ])
  func escaped(text: String, shown: String) {
    #expect(TerminalText(text).description == shown)
    #expect("<\(peer: text)>" == "<\(shown)>")
  }

  @Test(
    "Ordinary text passes as it is.",
    arguments: ["", "lunch at 12:30", "größer", "午餐", "שלום", "👍🏽", "❤\u{fe0f}", "e\u{301}", #"back\slash"#])
  func untouched(text: String) {
    #expect(TerminalText(text).description == text)
    #expect(Array(TerminalText(text).description.utf8) == Array(text.utf8))
  }

  @Test("No scalar that is shown is a control or invisible, whichever it was.")
  func everyScalar() {
    for value in UInt32(0)...0x10ffff {
      guard let scalar = Unicode.Scalar(value), scalar.isUnsafeOnTerminal else { continue }
      let shown = TerminalText(String(scalar)).description
      #expect(shown.utf8.allSatisfy { (0x20..<0x7f).contains($0) })
    }
  }

  @Test("JSON escapes the same scalars, and decodes to the same text.")
  func json() throws {
    let text = "\u{1b}\u{9b}\u{202e}\u{200b}\u{e0041}\u{7f}\"\\/ é 午"
    #expect(
      try JSONLine.encode([text])
        == #"["\u001b\u009b\u202e\u200b\udb40\udc41\u007f\"\\/ é 午"]"#)
  }
}
