import XMPPSASL

/// A token of the server for this device (XEP-0484), as it is stored.
package struct DeviceToken: Codable, Sendable, Equatable {
  /// `HT-SHA-256-EXPR`, `-UNIQ`, `-ENDP` or `-NONE`.
  package var mechanism: String
  package var secret: Secret
  /// RFC 3339: when the server forgets it.
  package var expiry: String?

  package init(mechanism: String, secret: Secret, expiry: String? = nil) {
    self.mechanism = mechanism
    self.secret = secret
    self.expiry = expiry
  }

  /// Nil for what is no text.
  package init?(_ token: FASTToken) {
    guard let secret = token.secret.revealed() else { return nil }
    self.init(mechanism: token.mechanism.rawValue, secret: Secret(secret), expiry: token.expiry)
  }

  package var forSASL: FASTToken {
    FASTToken(
      mechanism: SASLMechanismName(rawValue: mechanism), secret: secret, expiry: expiry)
  }

  /// Whether its end is known and has passed (seconds since 1970).
  package func isExpired(at now: Double) -> Bool {
    expiry.flatMap(IssuedToken.seconds).map { $0 <= now } ?? false
  }
}
