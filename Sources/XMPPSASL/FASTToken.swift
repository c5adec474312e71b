/// A token that a server gives to one device, to log in with in one step (XEP-0484).
///
/// It logs in like the password does, for this device at this server only: store it with the same care.
public struct FASTToken: Hashable, Sendable {
  /// The mechanism it was issued for: HT-SHA-256-EXPR, -UNIQ, -ENDP or -NONE.
  public var mechanism: SASLMechanismName
  public var secret: Secret
  /// RFC 3339: when the server forgets it, as it said.
  public var expiry: String?

  public init(mechanism: SASLMechanismName, secret: Secret, expiry: String? = nil) {
    self.mechanism = mechanism
    self.secret = secret
    self.expiry = expiry
  }
}
