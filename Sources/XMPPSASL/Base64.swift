import FoundationEssentials

/// Base64 (RFC 4648 §4) as in the XMPP profile of SASL: padded, without line breaks.
///
/// The stream, not this type, handles the single `=` that stands for an empty message (RFC 6120 §6.4.2).
public enum Base64 {
  public static func encode(_ bytes: some Collection<UInt8>) -> String {
    Data(bytes).base64EncodedString()
  }

  /// The decoded bytes; nil for text that is not canonical base64: other characters, line breaks, missing padding, or
  /// unused bits that are not zero.
  public static func decode(_ text: String) -> [UInt8]? {
    guard let data = Data(base64Encoded: text) else { return nil }
    // Foundation accepts several encodings of some bytes; two different texts of a peer must not decode to the same
    // salt.
    guard data.base64EncodedString().utf8.elementsEqual(text.utf8) else { return nil }
    return Array(data)
  }
}
