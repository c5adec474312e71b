/// Text of somebody else, made harmless for a terminal: what a peer, a server or a file says is shown, never obeyed.
///
/// Escape sequences start with ESC or a C1 control, lines are forged with CR and LF, and bidirectional and invisible
/// characters make one name look like another. Each such scalar is shown as an escape (`\x1b`, `\n`, `\u{202e}`), in a
/// pipe too. Those that the script of the text needs pass (``ScriptControls``), and everything visible does.
package struct TerminalText: CustomStringConvertible, Equatable, Sendable {
  package let description: String

  package init(_ text: String) {
    guard Self.hasUnsafeScalars(text) else {
      description = text
      return
    }
    let scalars = Array(text.unicodeScalars)
    let needed = ScriptControls(in: scalars)
    var shown = ""
    for (index, scalar) in scalars.enumerated() {
      if scalar.isUnsafeOnTerminal, !needed.contains(index) {
        shown += Self.escape(scalar)
      } else {
        shown.unicodeScalars.append(scalar)
      }
    }
    description = shown
  }

  /// Whether something in the text has to be escaped.
  static func hasUnsafeScalars(_ text: String) -> Bool {
    // Most texts are ASCII, whose octets are looked at faster than scalars are decoded.
    if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7f }) { return false }
    return text.unicodeScalars.contains(where: \.isUnsafeOnTerminal)
  }

  private static func escape(_ scalar: Unicode.Scalar) -> String {
    switch scalar {
    case "\n": return "\\n"
    case "\r": return "\\r"
    case "\t": return "\\t"
    default:
      let digits = String(scalar.value, radix: 16)
      return scalar.value < 0x100
        ? "\\x" + String(repeating: "0", count: 2 - digits.count) + digits
        : "\\u{" + digits + "}"
    }
  }
}

extension Unicode.Scalar {
  /// Controls (C0, DEL, C1), format characters (bidi, zero-width, tags), line and paragraph separators, and
  /// what else is invisible by default, but for variation selectors. A text may need some of them nevertheless.
  package var isUnsafeOnTerminal: Bool {
    if value >= 0x20 && value < 0x7f { return false }
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: return true
    default: return properties.isDefaultIgnorableCodePoint && !properties.isVariationSelector
    }
  }
}

extension DefaultStringInterpolation {
  /// Text of somebody else inside a line of output.
  package mutating func appendInterpolation(peer text: String) {
    appendLiteral(TerminalText(text).description)
  }
}
