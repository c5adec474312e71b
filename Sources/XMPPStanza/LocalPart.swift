/// The local part of a JID (RFC 7622 §3.3).
enum LocalPart {
  static func enforce(_ part: Substring) throws(JIDError) -> String {
    if let plain = plain(part) { return plain }
    return try full(part)
  }

  /// The local part if it obviously is a valid ASCII one; nil leaves the decision to `full`.
  static func plain(_ part: Substring) -> String? {
    guard 1...JID.maximumPartLength ~= part.utf8.count else { return nil }
    var hasUppercase = false
    for byte in part.utf8 {
      guard 0x21...0x7E ~= byte, !isExcluded(byte) else { return nil }
      if 0x41...0x5A ~= byte { hasUppercase = true }
    }
    return hasUppercase ? part.lowercasedASCII : String(part)
  }

  static func full(_ part: Substring) throws(JIDError) -> String {
    guard !part.isEmpty else { throw JIDError(.emptyLocal, "there is nothing before the @", .emptyLocal) }
    try JID.checkLength(part, atMost: JID.maximumRawLength, .localTooLong, .local)
    let result: String
    do throws(PRECIS.Violation) {
      result = try PRECIS.username(String(part))
      for scalar in result.unicodeScalars {
        if let byte = UInt8(exactly: scalar.value), isExcluded(byte) { throw .notAllowed(scalar) }
      }
    } catch {
      throw JIDError(.invalidLocal, .local, error)
    }
    guard !result.isEmpty else { throw JIDError(.emptyLocal, "there is nothing before the @", .emptyLocal) }
    try JID.checkLength(result[...], atMost: JID.maximumPartLength, .localTooLong, .local)
    return result
  }

  /// Whether a local part excludes a character that its PRECIS profile allows (RFC 7622 §3.3.1).
  private static func isExcluded(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "&"), UInt8(ascii: "'"), UInt8(ascii: "/"), UInt8(ascii: ":"),
      UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "@"):
      true
    default: false
    }
  }
}

extension Substring {
  /// The text with its letters in lower case. The text must be ASCII.
  var lowercasedASCII: String {
    String(unsafeUninitializedCapacity: utf8.count) { buffer in
      for (index, byte) in utf8.enumerated() { buffer[index] = 0x41...0x5A ~= byte ? byte | 0x20 : byte }
      return utf8.count
    }
  }
}
