import Testing
import XMPPSASL

/// Checks that no way of printing `value` shows `secret`, as text, as base64 or as a list of bytes.
func expectSilence(
  of value: Any, about secret: String, sourceLocation: SourceLocation = #_sourceLocation
) {
  var printed = "\(value)" + String(reflecting: value)
  dump(value, to: &printed)
  let bytes = Array(secret.utf8)
  // Without its indentation a dumped array is a row of dashes and numbers.
  printed += printed.filter { !$0.isWhitespace }
  let shapes = [
    secret, Base64.encode(bytes), bytes.map(String.init).joined(separator: ", "),
    bytes.map { "-\($0)" }.joined(),
  ]
  for shape in shapes {
    #expect(!printed.contains(shape), sourceLocation: sourceLocation)
  }
}

/// The bytes of a text.
func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

/// The bytes of hexadecimal digits; anything else between them is skipped.
func bytes(hex: String) -> [UInt8] {
  let digits = hex.compactMap(\.hexDigitValue).map(UInt8.init)
  return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}
