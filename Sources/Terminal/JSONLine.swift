import FoundationEssentials

/// One object of `--json`: a line with sorted keys, without characters that control a terminal.
///
/// Scalars that ``TerminalText`` would escape are written as `\uXXXX`. They occur only inside strings, because JSON
/// itself is ASCII.
package enum JSONLine {
  package static func encode(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return escape(String(decoding: try encoder.encode(value), as: UTF8.self))
  }

  package static func escape(_ json: String) -> String {
    guard TerminalText.hasUnsafeScalars(json) else { return json }
    var line = ""
    for scalar in json.unicodeScalars {
      guard scalar.isUnsafeOnTerminal else {
        line.unicodeScalars.append(scalar)
        continue
      }
      for unit in String(scalar).utf16 {
        let digits = String(unit, radix: 16)
        line += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      }
    }
    return line
  }
}
