import XMPPSASL

/// The stored form of a token that the server has issued for this device (XEP-0484).
package struct DeviceToken: Codable, Sendable, Equatable {
  /// `HT-SHA-256-EXPR`, `-UNIQ`, `-ENDP` or `-NONE`.
  package var mechanism: String
  package var secret: Secret
  /// RFC 3339: when the token expires.
  package var expiry: String?

  package init(mechanism: String, secret: Secret, expiry: String? = nil) {
    self.mechanism = mechanism
    self.secret = secret
    self.expiry = expiry
  }

  /// Returns nil for a token that is not text.
  package init?(_ token: FASTToken) {
    guard let secret = token.secret.revealed() else { return nil }
    self.init(mechanism: token.mechanism.rawValue, secret: Secret(secret), expiry: token.expiry)
  }

  package var forSASL: FASTToken {
    FASTToken(
      mechanism: SASLMechanismName(rawValue: mechanism), secret: secret, expiry: expiry)
  }

  /// Whether the token is known to have expired at a time in seconds since 1970.
  package func isExpired(at now: Double) -> Bool {
    expiry.flatMap(IssuedToken.seconds).map { $0 <= now } ?? false
  }
}
