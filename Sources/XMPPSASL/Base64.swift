import FoundationEssentials

/// Base64 (RFC 4648 §4) as the XMPP profile of SASL wants it: padded, without line breaks.
///
/// The single `=` that stands for an empty message in XMPP (RFC 6120 §6.4.2) is the stream's matter, not
/// base64.
public enum Base64 {
  public static func encode(_ bytes: some Collection<UInt8>) -> String {
    Data(bytes).base64EncodedString()
  }

  /// The bytes, or nil for text that is not canonical base64: other characters, line breaks, missing padding,
  /// or bits that no byte owns.
  public static func decode(_ text: String) -> [UInt8]? {
    guard let data = Data(base64Encoded: text) else { return nil }
    // Foundation accepts more than one spelling of some bytes; one peer's two texts must not be one salt.
    guard data.base64EncodedString().utf8.elementsEqual(text.utf8) else { return nil }
    return Array(data)
  }
}
