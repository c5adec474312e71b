/// A server's offer of SASL mechanisms.
public struct SASLOffer: Sendable, Hashable {
  /// The mechanisms in the server's order (RFC 6120 §6.4.1).
  public var mechanisms: [SASLMechanismName]
  /// The channel bindings of its `-PLUS` mechanisms (XEP-0440); nil where it does not tell.
  public var channelBindings: [ChannelBindingType]?

  public init(mechanisms: [SASLMechanismName], channelBindings: [ChannelBindingType]? = nil) {
    self.mechanisms = mechanisms
    self.channelBindings = channelBindings
  }

  /// The hash of the offer in SCRAM's `h=` (XEP-0474 §5.1), in base64.
  func hash(_ hash: Digest) throws(SASLError) -> String {
    func joined(_ names: [String]) -> String {
      names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.joined(separator: "\u{1E}")
    }
    var text = joined(mechanisms.map(\.rawValue))
    if let channelBindings { text += "\u{1F}" + joined(channelBindings.map(\.rawValue)) }
    return Base64.encode(try hash.hash(text.utf8))
  }
}

/// A text of bounded length with the names.
func list(_ names: some Collection<some CustomStringConvertible>) -> String {
  if names.isEmpty { return "none" }
  let shown = names.prefix(16).map(\.description).joined(separator: ", ")
  return names.count > 16 ? "\(shown) and \(names.count - 16) more" : shown
}
