import Testing

@testable import Terminal

@Suite("Foreign text on the terminal")
struct TerminalTextTests {
  @Test(
    "Terminal control characters are shown as escapes.",
    arguments: [
      ("\u{1b}[2J", #"\x1b[2J"#), ("\u{1b}]8;;http://x\u{7}y", #"\x1b]8;;http://x\x07y"#),
      ("\u{9b}31m", #"\x9b31m"#), ("a\rb\nc\td", #"a\rb\nc\td"#), ("\0", #"\x00"#), ("\u{7f}", #"\x7f"#),
      ("\u{202e}gpj.exe", #"\u{202e}gpj.exe"#), ("\u{202e}gpj.exe\u{202c}", #"\u{202e}gpj.exe\u{202c}"#),
      ("a\u{200b}b\u{200d}c\u{feff}", #"a\u{200b}b\u{200d}c\u{feff}"#), ("\u{ad}", #"\xad"#),
      ("\u{2028}\u{2029}", #"\u{2028}\u{2029}"#), ("\u{e0041}", #"\u{e0041}"#), ("\u{3164}", #"\u{3164}"#),
      ("\r\n", #"\r\n"#), ("\u{85}", #"\x85"#),
    ])
  func escaped(text: String, shown: String) {
    #expect(TerminalText(text).description == shown)
    #expect("<\(peer: text)>" == "<\(shown)>")
  }

  @Test(
    "Ordinary text is shown unchanged.",
    arguments: ["", "lunch at 12:30", "größer", "午餐", "שלום", "👍🏽", "❤\u{fe0f}", "e\u{301}", #"back\slash"#])
  func untouched(text: String) {
    #expect(TerminalText(text).description == text)
    #expect(Array(TerminalText(text).description.utf8) == Array(text.utf8))
  }

  @Test(
    "Invisible characters that scripts and emoji need are kept.",
    arguments: [
      "👨‍👩‍👧‍👦", "👩🏽‍💻", "🏳️‍🌈", "❤️‍🔥", "🐈‍⬛", "1️⃣", "🇩🇪",
      "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
      // Persian: “I want”, “APIs”, and the sign of the Hijri calendar.
      "می\u{200c}خواهم", "API\u{200c}های", "۱۴۰۳ ه\u{200d}",
      // Hindi with a half form, Sinhala with a conjunct.
      "क्\u{200d}ष", "ශ්\u{200d}රී",
      // Hebrew with Latin at its end, a number of a telephone, and what a program has put into a sentence.
      "למדתי C++\u{200e}", "\u{200f}(שלום)\u{200f}", "\u{202a}+972 50 123 4567\u{202c}",
      "\u{2068}דנה\u{2069} הצטרפה", "Hello, \u{2068}Anna\u{2069}!", "\u{2067}א \u{2066}b\u{2069}\u{2069}",
      "\u{61c}-۵", "﴿قل هو الله أحد\u{6dd}﴾",
    ])
  func needed(text: String) {
    #expect(Array(TerminalText(text).description.utf8) == Array(text.utf8))
  }

  @Test(
    "Characters that would reorder the rest of the line or disguise a word are shown as escapes.",
    arguments: [
      // Not closed, closed without being open, crossing, and closed by another one.
      ("\u{2067}א", #"\u{2067}א"#), ("א\u{2069}", #"א\u{2069}"#), ("\u{202b}א", #"\u{202b}א"#),
      ("א\u{202c}", #"א\u{202c}"#),
      ("\u{2066}\u{202b}א\u{2069}\u{202c}", "\u{2066}" + #"\u{202b}א"# + "\u{2069}" + #"\u{202c}"#),
      ("\u{202b}\u{2066}א\u{202c}\u{2069}", #"\u{202b}"# + "\u{2066}" + #"א\u{202c}"# + "\u{2069}"),
      ("\u{2067}\u{2066}א\u{2069}", #"\u{2067}"# + "\u{2066}א\u{2069}"),
      ("\u{202d}א\u{202c}", #"\u{202d}א\u{202c}"#),
      ("\u{2068}\u{202e}א\u{202c}\u{2069}", "\u{2068}" + #"\u{202e}א\u{202c}"# + "\u{2069}"),
      // One word that looks like another.
      ("al\u{200d}ice", #"al\u{200d}ice"#), ("al\u{200e}\u{200c}ice", #"al\u{200e}\u{200c}ice"#),
      ("ма\u{200f}ма", #"ма\u{200f}ма"#), ("\u{2060}שלום", #"\u{2060}שלום"#),
      // Tags that are no flag's.
      ("🏴\u{e0067}\u{e0062}", #"🏴\u{e0067}\u{e0062}"#), ("🏴\u{e007f}", #"🏴\u{e007f}"#),
      ("😀\u{e0067}\u{e0062}\u{e0065}\u{e007f}", #"😀\u{e0067}\u{e0062}\u{e0065}\u{e007f}"#),
      ("\u{fff9}a\u{fffa}b\u{fffb}", #"\u{fff9}a\u{fffa}b\u{fffb}"#),
    ])
  func notNeeded(text: String, shown: String) {
    #expect(Array(TerminalText(text).description.utf8) == Array(shown.utf8))
  }

  @Test("Every direction that a text opens is closed at its end, and no other direction is.")
  func balanced() {
    let controls: [Unicode.Scalar] = [
      "\u{202a}", "\u{202b}", "\u{202c}", "\u{202d}", "\u{202e}", "\u{2066}", "\u{2067}", "\u{2068}",
      "\u{2069}", "א",
    ]
    // All texts of four of them.
    for number in 0..<10_000 {
      var text = ""
      var digits = number
      for _ in 0..<4 {
        text.unicodeScalars.append(controls[digits % 10])
        digits /= 10
      }
      var open: [Unicode.Scalar] = []
      for scalar in TerminalText(text).description.unicodeScalars {
        switch scalar.value {
        case 0x202a, 0x202b: open.append("\u{202c}")
        case 0x2066, 0x2067, 0x2068: open.append("\u{2069}")
        case 0x202c, 0x2069:
          if open.popLast() != scalar { Issue.record("\(text.unicodeScalars.map(\.value))") }
        case 0x202d, 0x202e: Issue.record("\(text.unicodeScalars.map(\.value))")
        default: continue
        }
      }
      if !open.isEmpty { Issue.record("\(text.unicodeScalars.map(\.value))") }
    }
  }

  @Test("A text with many opening direction controls and no matching end is shown with all of them escaped.")
  func manyControls() {
    let many = 50_000
    for (opening, end) in [("\u{202b}", "\u{2069}"), ("\u{2066}", "\u{202c}")] {
      let text = String(repeating: opening, count: many) + String(repeating: end, count: many)
      #expect(TerminalText(text).description.utf8.count == 2 * many * #"\u{2066}"#.utf8.count)
    }
  }

  @Test("Every invisible character inside a Latin word is escaped.")
  func everyScalar() {
    for value in UInt32(0)...0x10ffff {
      guard let scalar = Unicode.Scalar(value), scalar.isUnsafeOnTerminal else { continue }
      let shown = TerminalText("a\(scalar)b").description
      let isSeen =
        scalar.properties.generalCategory == .format && !scalar.properties.isDefaultIgnorableCodePoint
      if isSeen, !(0xfff9...0xfffb).contains(value) { continue }
      #expect(shown.utf8.allSatisfy { (0x20..<0x7f).contains($0) })
    }
  }

  @Test("JSON output escapes every unsafe character and decodes to the same text.")
  func json() throws {
    let text = "\u{1b}\u{9b}\u{202e}\u{200b}\u{e0041}\u{7f}\"\\/ é 午 👩\u{200d}💻"
    #expect(
      try JSONLine.encode([text])
        == #"["\u001b\u009b\u202e\u200b\udb40\udc41\u007f\"\\/ é 午 👩\u200d💻"]"#)
  }
}
