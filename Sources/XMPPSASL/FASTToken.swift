/// A token that a server issues to one device for logins in one step (XEP-0484).
///
/// Like a password, it logs in this device at this server: store it with the same care.
public struct FASTToken: Hashable, Sendable {
  /// The mechanism for which it was issued: HT-SHA-256-EXPR, -UNIQ, -ENDP or -NONE.
  public var mechanism: SASLMechanismName
  public var secret: Secret
  /// RFC 3339: when the token expires, according to the server.
  public var expiry: String?

  public init(mechanism: SASLMechanismName, secret: Secret, expiry: String? = nil) {
    self.mechanism = mechanism
    self.secret = secret
    self.expiry = expiry
  }
}

extension FASTToken: Codable {
  private enum CodingKeys: String, CodingKey { case mechanism, secret, expiry }

  /// The secret is encoded as base64 text.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(mechanism.rawValue, forKey: .mechanism)
    try container.encode(secret.withBytes { Base64.encode($0) }, forKey: .secret)
    try container.encodeIfPresent(expiry, forKey: .expiry)
  }

  /// Throws `DecodingError` for a value that no server can have issued.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    mechanism = SASLMechanismName(try container.decode(String.self, forKey: .mechanism))
    guard mechanism.isWellFormed else {
      throw DecodingError.dataCorruptedError(
        forKey: .mechanism, in: container, debugDescription: "not a name")
    }
    guard var bytes = Base64.decode(try container.decode(String.self, forKey: .secret)), !bytes.isEmpty else {
      throw DecodingError.dataCorruptedError(forKey: .secret, in: container, debugDescription: "not base64")
    }
    secret = Secret(wiping: &bytes)
    expiry = try container.decodeIfPresent(String.self, forKey: .expiry)
  }
}
