import CLinux
import Glibc

/// The number of columns that text takes on a terminal.
///
/// The widths of characters are those of the C library, whose tables follow Unicode's East Asian Width (UAX #11). An
/// emoji sequence takes two columns.
extension Character {
  package var displayWidth: Int {
    if isASCII { return 1 }
    let isEmojiSequence = unicodeScalars.contains { scalar in
      scalar == "\u{FE0F}" || scalar == "\u{200D}" || scalar.properties.isEmojiModifier
        || (0x1F1E6...0x1F1FF).contains(scalar.value)
    }
    if isEmojiSequence, unicodeScalars.count > 1 { return 2 }
    return unicodeScalars.reduce(0) { $0 + Self.columns(of: $1) }
  }

  /// A locale with Unicode's tables. It is never changed.
  nonisolated(unsafe) private static let unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", nil)

  private static func columns(of scalar: Unicode.Scalar) -> Int {
    let current = unicode.map { uselocale($0) }
    defer { if let current { uselocale(current) } }
    return max(0, Int(wcwidth(wchar_t(bitPattern: scalar.value))))
  }
}

extension StringProtocol {
  package var displayWidth: Int {
    utf8.allSatisfy { $0 < 0x80 } ? utf8.count : reduce(0) { $0 + $1.displayWidth }
  }

  /// The text with spaces after it, so that it takes at least this number of columns.
  package func padded(to columns: Int) -> String {
    String(self) + String(repeating: " ", count: Swift.max(0, columns - displayWidth))
  }

  /// The text, shortened to this number of columns. A shortened text ends with an ellipsis.
  package func cut(to columns: Int) -> String {
    if displayWidth <= columns { return String(self) }
    var room = columns - 1
    let start = prefix { character in
      room -= character.displayWidth
      return room >= 0
    }
    return columns > 0 ? start + "…" : ""
  }

  /// The text as lines of at most this number of columns, which break at spaces where possible.
  package func wrapped(to columns: Int) -> [String] {
    split(separator: "\n", omittingEmptySubsequences: false).flatMap { $0.paragraph(wrappedTo: columns) }
  }

  private func paragraph(wrappedTo columns: Int) -> [String] {
    var lines: [String] = []
    var line = ""
    var width = 0
    /// The end of the last word that fits, and the columns up to it.
    var space: (index: String.Index, width: Int)?
    for character in self {
      if character == " " { space = (line.endIndex, width) }
      line.append(character)
      width += character.displayWidth
      guard width > columns, line.count > 1 else { continue }
      if let end = space, end.index > line.startIndex {
        lines.append(String(line[..<end.index]))
        line = String(line[end.index...].dropFirst())
        width -= end.width + 1
      } else {
        let last = line.removeLast()
        lines.append(line)
        line = String(last)
        width = last.displayWidth
      }
      space = line.lastIndex(of: " ").map { ($0, line[..<$0].displayWidth) }
    }
    return lines + [line]
  }
}
