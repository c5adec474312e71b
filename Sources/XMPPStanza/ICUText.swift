import CICU

/// Conversions by ICU, which runs only for text that needs it, because it maps 32 MB of tables.
enum ICUText {
  /// Returns the length of the whole result, even if it did not fit; negative if ICU fails.
  typealias Conversion = (
    _ source: UnsafePointer<UInt16>, _ count: Int32, _ result: UnsafeMutablePointer<UInt16>, _ capacity: Int32
  ) -> Int32

  /// Normalization Form C; nil if ICU fails.
  static func nfc(_ text: String) -> String? { convert(text, icu_nfc) }

  /// The default case conversion toLowercase(); nil if ICU fails.
  static func lowercase(_ text: String) -> String? { convert(text, icu_lowercase) }

  /// The text with wide and narrow forms decomposed (RFC 8264 §5.2.1); nil if ICU fails.
  static func widthMapped(_ text: String) -> String? {
    var result = String.UnicodeScalarView()
    var mapping = [UInt16](repeating: 0, count: 32)
    for scalar in text.unicodeScalars {
      let length = Int(icu_width_mapping(scalar.value, &mapping, Int32(mapping.count)))
      guard 0...mapping.count ~= length else { return nil }
      if length == 0 {
        result.append(scalar)
      } else {
        result.append(contentsOf: String(decoding: mapping[..<length], as: UTF16.self).unicodeScalars)
      }
    }
    return String(result)
  }

  /// The result of a conversion; nil if ICU fails.
  static func convert(_ text: String, _ conversion: Conversion) -> String? {
    let source = Array(text.utf16)
    guard let count = Int32(exactly: source.count) else { return nil }
    var capacity = source.count + 64
    for _ in 0..<2 {
      var result = [UInt16](repeating: 0, count: capacity)
      let length = Int(conversion(source, count, &result, Int32(clamping: capacity)))
      guard length >= 0 else { return nil }
      if length <= capacity { return String(decoding: result[..<length], as: UTF16.self) }
      capacity = length
    }
    return nil
  }
}
