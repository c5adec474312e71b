import CICU

/// SASLprep (RFC 4013), the preparation of user names and passwords for SCRAM, with ICU's tables.
///
/// SCRAM uses SASLprep although RFC 8265 (PRECIS) has replaced it elsewhere, and client and server must get the same
/// bytes. Unlike PRECIS, SASLprep folds compatibility characters (NFKC) and knows only Unicode 3.2.
enum SASLPrep {
  /// The use of a text, which decides about characters that Unicode 3.2 lacks (RFC 3454 §7).
  enum Use {
    /// Such characters are allowed: the user name that SCRAM sends (RFC 5802 §5.1).
    case query
    /// Such characters are refused: the password in SCRAM's key (RFC 5802 §2.2).
    case stored
  }

  /// The maximum length of a text in UTF-16 code units: longer than any password, short enough for ICU.
  static let limit = 1 << 16

  /// The prepared text as UTF-8; nil where SASLprep forbids a character or the text exceeds ``limit``.
  static func prepare(_ text: String, for use: Use) throws(SASLError) -> [UInt8]? {
    if text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) { return Array(text.utf8) }
    var source = Array(text.utf16)
    defer { source.wipe() }
    guard source.count <= limit else { return nil }

    // NFKC expands no character of Unicode 3.2 to more than 18.
    var result = [UInt16](repeating: 0, count: source.count * 18)
    defer { result.wipe() }
    var status = icu_saslprep_failed
    let count = icu_saslprep(
      source, Int32(source.count), &result, Int32(result.count), use == .query, &status)
    switch status {
    case icu_saslprep_ok: break
    case icu_saslprep_prohibited: return nil
    default: throw SASLError(.libraryFailure, "ICU could not prepare the text")
    }
    return Array(String(decoding: result.prefix(Int(count)), as: UTF16.self).utf8)
  }
}
