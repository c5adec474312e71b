import AgentProtocol
import FoundationEssentials
import XMPPSASL
import XMPPStanza

/// A token from a third party, printed by a user's command and kept until it expires.
package struct IssuedToken: Codable, Sendable, Equatable {
  package var token: Secret
  /// RFC 3339: when the token expires, if known.
  package var expires: String?

  package init(token: Secret, expires: String? = nil) {
    self.token = token
    self.expires = expires
  }

  /// The printed text is not a token.
  package struct Garbage: Error { package var reason: FailureDetail }

  /// Parses a bare token, or `{"token":…,"expires":RFC 3339,"jid":…}`; nil where the output is empty.
  ///
  /// - Parameter account: the account that a `jid` must name.
  package init?(printed output: [UInt8], for account: String) throws(Garbage) {
    guard let text = String(validating: output, as: UTF8.self) else {
      throw Garbage(reason: .login(.notUTF8))
    }
    try self.init(printed: text, for: account)
  }

  package init?(printed text: String, for account: String) throws(Garbage) {
    let printed = JSONWebToken.stripped(text)
    if printed.hasPrefix("{") {
      guard let object = try? JSONDecoder().decode(Object.self, from: Data(printed.utf8)) else {
        throw Garbage(reason: .login(.outputSyntax))
      }
      if let jid = object.jid, (try? BareJID.normalise(jid)) != account {
        throw Garbage(reason: .login(.tokenOfAnother))
      }
      guard object.expires.map({ Self.seconds($0) != nil }) ?? true else {
        throw Garbage(reason: .login(.outputExpirySyntax))
      }
      self.init(token: Secret(JSONWebToken.stripped(object.token ?? "")), expires: object.expires)
    } else {
      self.init(token: Secret(printed))
    }
    if token.value.isEmpty { return nil }
    guard Self.isToken(token.value) else { throw Garbage(reason: .login(.outputNoToken)) }
    if expires == nil, let expiry = (try? JSONWebToken(token.value))?.expiry {
      expires = Self.text(seconds: expiry)
    }
  }

  /// The bare JID that a printed token names, if any.
  package static func jid(printed text: String) -> String? {
    let object = try? JSONDecoder().decode(Object.self, from: Data(JSONWebToken.stripped(text).utf8))
    return object?.jid.flatMap { try? BareJID.normalise($0) }
  }

  /// Whether the text has no blanks or control characters; a text with them is an error message.
  package static func isToken(_ text: String) -> Bool {
    !text.isEmpty
      && text.unicodeScalars.allSatisfy {
        !$0.properties.isWhitespace && $0.properties.generalCategory != .control
      }
  }

  /// Whether the token is known to be valid at a time in seconds since 1970; false where its expiry is unknown.
  package func isValid(at now: Double) -> Bool { expires.flatMap(Self.seconds).map { $0 > now } ?? false }

  /// Whether the token is known to have expired.
  package func isExpired(at now: Double) -> Bool { expires.flatMap(Self.seconds).map { $0 <= now } ?? false }

  /// RFC 3339: the expiry that came with the token or stands in it.
  package var end: String? {
    expires ?? (try? JSONWebToken(token.value))?.expiry.flatMap(Self.text(seconds:))
  }

  /// Whether ``end`` is known and has passed (seconds since 1970).
  package func isOver(at now: Double) -> Bool { end.flatMap(Self.seconds).map { $0 <= now } ?? false }

  private struct Object: Decodable {
    var token: String?
    var expires: String?
    var jid: String?
  }

  /// The seconds since 1970 of an RFC 3339 time, with or without fractions.
  package static func seconds(_ text: String) -> Double? {
    let date = Timestamp.date(text) ?? (try? Date(text, strategy: .iso8601))
    return date?.timeIntervalSince1970
  }

  package static func text(seconds: Double) -> String? {
    guard seconds > -6e10, seconds < 2e11 else { return nil }
    return Timestamp.text(Date(timeIntervalSince1970: seconds))
  }
}

extension IssuedToken {
  /// Checks the token as far as that is possible before it is sent.
  ///
  /// Throws `tokenExpired` with the time; for a JWT also `invalidToken` with the reason.
  package func check(isJWT: Bool, at now: Double) throws(Failure) {
    let claims: JSONWebToken?
    if isJWT { claims = try JSONWebToken(token.value) } else { claims = try? JSONWebToken(token.value) }
    if let claims, claims.isExpired(at: now), let expiry = claims.expiry {
      throw Self.expired(Self.text(seconds: expiry))
    }
    if isExpired(at: now) { throw Self.expired(expires) }
  }

  private static func expired(_ time: String?) -> Failure {
    Failure(.tokenExpired, stage: .authenticate, detail: time.map { .login(.expired, $0) })
  }
}
