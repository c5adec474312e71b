/// Text from a peer, a server or a file that is safe to print on a terminal.
///
/// Escape sequences begin with ESC or a C1 control, CR and LF can forge lines, and bidirectional and invisible
/// characters can disguise a name. Each such scalar is printed as an escape (`\x1b`, `\n`, `\u{202e}`), even to a pipe.
/// Visible characters remain, as do invisible ones that the text's script requires (``ScriptControls``).
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

  /// Whether a scalar of the text may have to be escaped.
  static func hasUnsafeScalars(_ text: String) -> Bool {
    // Most texts are ASCII, for which checking octets is faster than decoding scalars.
    func isHarmless(_ text: some Sequence<UInt8>) -> Bool { text.allSatisfy { $0 >= 0x20 && $0 < 0x7f } }
    if text.utf8.withContiguousStorageIfAvailable(isHarmless) ?? isHarmless(text.utf8) { return false }
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
  /// Whether the scalar is a control (C0, DEL, C1), a format character (bidi, zero-width, tags), a line or paragraph
  /// separator, or otherwise invisible by default, except for variation selectors. Some texts require some of them.
  package var isUnsafeOnTerminal: Bool {
    if value >= 0x20 && value < 0x7f { return false }
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: return true
    default: return properties.isDefaultIgnorableCodePoint && !properties.isVariationSelector
    }
  }
}

extension DefaultStringInterpolation {
  /// Inserts untrusted text into a line of output.
  package mutating func appendInterpolation(peer text: String) {
    appendLiteral(TerminalText(text).description)
  }
}
