import CICU

/// Calls of ICU on text. Nothing here runs before the first text that needs it: ICU maps 32 MB of tables.
enum ICUText {
  typealias Conversion = (
    _ source: UnsafePointer<UInt16>, _ count: Int32, _ result: UnsafeMutablePointer<UInt16>,
    _ capacity: Int32, _ status: inout UErrorCode
  ) -> Int32

  /// Normalization Form C; nil when ICU fails.
  static func nfc(_ text: String) -> String? {
    convert(text) { icu_nfc($0, $1, $2, $3, &$4) }
  }

  /// The default case conversion toLowercase(); nil when ICU fails.
  static func lowercase(_ text: String) -> String? {
    convert(text) { icu_lowercase($0, $1, $2, $3, &$4) }
  }

  /// Wide and narrow forms replaced by their decompositions (RFC 8264 §5.2.1); nil when ICU fails.
  static func widthMapped(_ text: String) -> String? {
    var result = ""
    for scalar in text.unicodeScalars {
      var status = U_ZERO_ERROR
      let mapping = [UInt16](unsafeUninitializedCapacity: 32) { buffer, count in
        let length = icu_width_mapping(scalar.icu, buffer.baseAddress, Int32(buffer.count), &status)
        count = min(max(0, Int(length)), buffer.count)
      }
      guard status.rawValue <= U_ZERO_ERROR.rawValue else { return nil }
      if mapping.isEmpty {
        result.unicodeScalars.append(scalar)
      } else {
        result += String(decoding: mapping, as: UTF16.self)
      }
    }
    return result
  }

  /// The result of a conversion of ICU; nil when it fails.
  static func convert(_ text: String, _ conversion: Conversion) -> String? {
    let source = Array(text.utf16)
    guard let count = Int32(exactly: source.count) else { return nil }
    var capacity = source.count * 2 + 64
    for _ in 0..<2 {
      var status = U_ZERO_ERROR
      var needed: Int32 = 0
      let result = [UInt16](unsafeUninitializedCapacity: capacity) { buffer, written in
        guard let base = buffer.baseAddress else { return }
        needed = source.withUnsafeBufferPointer { source in
          // An empty array may have no address.
          guard let start = source.baseAddress else { return 0 }
          return conversion(start, count, base, Int32(clamping: buffer.count), &status)
        }
        written = min(max(0, Int(needed)), buffer.count)
      }
      if status == U_BUFFER_OVERFLOW_ERROR {
        capacity = Int(needed)
        continue
      }
      // Negative statuses are warnings, such as a result without a terminating zero.
      guard status.rawValue <= U_ZERO_ERROR.rawValue else { return nil }
      return String(decoding: result, as: UTF16.self)
    }
    return nil
  }
}

extension Unicode.Scalar {
  /// The code point as ICU takes it.
  var icu: UChar32 { UChar32(bitPattern: value) }
}
