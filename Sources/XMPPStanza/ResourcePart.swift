/// The resource part of a JID (RFC 7622 §3.4).
enum ResourcePart {
  static func enforce(_ part: Substring) throws(JIDError) -> String {
    if let plain = plain(part) { return plain }
    return try full(part)
  }

  /// The resource if it obviously is a valid ASCII one; nil leaves the decision to `full`.
  static func plain(_ part: Substring) -> String? {
    guard 1...JID.maximumPartLength ~= part.utf8.count, part.utf8.allSatisfy({ 0x20...0x7E ~= $0 })
    else { return nil }
    return String(part)
  }

  static func full(_ part: Substring) throws(JIDError) -> String {
    guard !part.isEmpty else {
      throw JIDError(.emptyResource, "there is nothing after the /", .emptyResource)
    }
    try JID.checkLength(part, atMost: JID.maximumRawLength, .resourceTooLong, .resource)
    let result: String
    do throws(PRECIS.Violation) {
      result = try PRECIS.opaqueString(String(part))
    } catch {
      throw JIDError(.invalidResource, .resource, error)
    }
    try JID.checkLength(result[...], atMost: JID.maximumPartLength, .resourceTooLong, .resource)
    return result
  }
}
