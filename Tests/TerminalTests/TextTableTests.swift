import Testing

@testable import Terminal

@Suite("Tables and the display width of text")
struct TextTableTests {
  private static let columns: [TextTable.Column] = [
    .init("NAME", .cut), .init("JID"), .init("TEXT", .wrapped),
  ]

  private static func lines(
    _ rows: [[TextTable.Cell]], columns: Int?, colors: OutputStyle.Colors = .none, hasHeadings: Bool = true
  ) -> [String] {
    var table = TextTable(Self.columns, OutputStyle(columns: columns, colors: colors))
    for row in rows { table.add(row) }
    return table.lines(hasHeadings: hasHeadings)
  }

  @Test(
    "The width of a character is the number of columns that a terminal needs for it.",
    arguments: [
      ("abc", 3), ("é", 1), ("e\u{301}", 1), ("漢字", 4), ("한", 2), ("\u{1112}\u{1161}\u{11ab}", 2), ("😺", 2),
      ("👩‍🔧", 2), ("❤️", 2), ("🇩🇪", 2),
      ("👍🏽", 2), ("", 0), ("ｱ", 1), ("Ａ", 2), ("क्ष", 2),
    ] as [(String, Int)])
  func width(text: String, columns: Int) {
    #expect(text.displayWidth == columns)
  }

  @Test("A text is cut before the first character that does not fit, and ends with an ellipsis.")
  func cut() {
    #expect("abcdef".cut(to: 6) == "abcdef")
    #expect("abcdef".cut(to: 5) == "abcd…")
    #expect("漢字漢字".cut(to: 6) == "漢字…")
    #expect("漢字".cut(to: 1) == "…" && "漢字".cut(to: 0) == "")
  }

  @Test(
    "A text is wrapped at spaces, within long words, and at line feeds.",
    arguments: [
      ("one two three", 7, ["one two", "three"]), ("one two", 3, ["one", "two"]),
      ("abcdefg", 3, ["abc", "def", "g"]),
      ("a\n\nb", 5, ["a", "", "b"]), ("漢字漢字", 5, ["漢字", "漢字"]), ("漢", 1, ["漢"]), ("", 5, [""]),
      ("a bcdefgh", 4, ["a", "bcde", "fgh"]),
    ] as [(String, Int, [String])])
  func wrapped(text: String, columns: Int, lines: [String]) {
    #expect(text.wrapped(to: columns) == lines)
  }

  @Test("A pipe gets the cells with tabs between them, whole and without headings.")
  func pipe() {
    let long = String(repeating: "x ", count: 100)
    #expect(
      Self.lines([["Bob", "b@x", "\(long)"], ["", "c@x", ""]], columns: nil) == [
        "Bob\tb@x\t\(long)", "\tc@x\t",
      ])
    #expect(Self.lines([], columns: nil).isEmpty)
  }

  @Test("A terminal gets headings and aligned columns, by display width, and no line ends with spaces.")
  func terminal() {
    #expect(
      Self.lines([["Bob", "b@x", "hi"], ["漢字", "carol@x", ""]], columns: 80)
        == ["NAME  JID      TEXT", "Bob   b@x      hi", "漢字  carol@x"])
    #expect(Self.lines([["", "b@x", "hi"]], columns: 80, hasHeadings: false) == ["b@x  hi"])
    #expect(Self.lines([], columns: 80).isEmpty)
  }

  @Test(
    "The widest column gives way where a line would not fit; a wrapped one is continued below its beginning.")
  func fitted() {
    let rows: [[TextTable.Cell]] = [["A very long name", "b@x", "one two three four"]]
    let lines = Self.lines(rows, columns: 25, hasHeadings: false)
    #expect(lines == ["A very …  b@x  one two", "               three four"])
    #expect(lines.allSatisfy { $0.displayWidth <= 25 })
    #expect(Self.lines(rows, columns: 1, hasHeadings: false).count > 1)
  }

  @Test("Colours surround the text only, not the spaces beside it, in the palette that the terminal has.")
  func colors() {
    let rows: [[TextTable.Cell]] = [[.init("Bob", TextAttribute(color: "#dd00af")), "b@x", "hi"]]
    #expect(
      Self.lines(rows, columns: 80, colors: .full, hasHeadings: false) == [
        "\u{1b}[38;2;221;0;175mBob\u{1b}[0m  b@x  hi"
      ])
    #expect(
      Self.lines(rows, columns: 80, colors: .palette, hasHeadings: false) == [
        "\u{1b}[38;5;163mBob\u{1b}[0m  b@x  hi"
      ])
    #expect(TextAttribute(color: "red") == .plain && TextAttribute(color: nil) == .plain)
    #expect(TextAttribute(color: "#00+1ff") == .plain || TextAttribute(color: "#00+1ff").kind != .bold)
  }

  @Test("The environment decides about colours and width only on a terminal.")
  func environment() {
    #expect(OutputStyle(of: -1) { _ in "1" } == OutputStyle(columns: nil))
  }
}
