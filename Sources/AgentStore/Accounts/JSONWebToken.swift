import AgentProtocol
import FoundationEssentials
import XMPPSASL

/// A JSON Web Token (RFC 7519) as far as its bearer can read it; nothing is verified.
///
/// A malformed token is reported before it is sent, since a server does not say what is wrong with it.
package struct JSONWebToken: Sendable, Equatable {
  /// `exp`: seconds since 1970.
  package let expiry: Double?
  /// `iss`.
  let issuer: String?
  /// `aud`.
  package let audience: [String]
  /// `jid`: the account for which ejabberd accepts the token.
  package let jid: String?

  /// Throws `invalidToken` with the reason, but never with a part of the token.
  package init(_ token: String) throws(Failure) {
    let segments = token.split(separator: ".", omittingEmptySubsequences: false)
    guard segments.count == 3 else {
      if let inner = Self.decode(token[...], isLenient: true),
        inner.filter({ $0 == UInt8(ascii: ".") }).count == 2
      {
        throw Self.invalid(.login(.encodedTwice))
      }
      throw Self.invalid(
        segments.count == 1 ? .login(.oneSegment) : .login(.segments, segments.count))
    }
    _ = try Self.object(segments[0], orElse: .headerEncoding, .headerSyntax)
    let claims = try Self.object(segments[1], orElse: .claimsEncoding, .claimsSyntax)
    guard let signature = Self.decode(segments[2]), !signature.isEmpty else {
      throw Self.invalid(.login(.signatureEncoding))
    }
    switch claims["exp"] {
    case nil, .null: expiry = nil
    case .integer(let seconds): expiry = Double(seconds)
    case .number(let seconds): expiry = seconds
    default: throw Self.invalid(.login(.expirySyntax))
    }
    issuer = claims["iss"]?.text
    jid = claims["jid"]?.text
    switch claims["aud"] {
    case .string(let one): audience = [one]
    case .array(let all): audience = all.compactMap(\.text)
    default: audience = []
    }
  }

  /// - Parameter now: seconds since 1970.
  package func isExpired(at now: Double) -> Bool { expiry.map { $0 <= now } ?? false }

  /// The claims about the token's recipient, in one line, to be compared with the server it was sent to; nil where
  /// there are none.
  package var destination: FailureDetail? {
    let facts = [
      issuer.map { "iss \($0)" }, audience.isEmpty ? nil : "aud \(audience.joined(separator: " "))",
      jid.map { "jid \($0)" },
    ].compactMap { $0 }
    return facts.isEmpty ? nil : .login(.destination, facts.joined(separator: ", "))
  }

  /// Strips what files and editors add to a token: a byte order mark, surrounding blanks, and quotes.
  static func stripped(_ text: String) -> String {
    var scalars = text.unicodeScalars[...]
    func isOutside(_ scalar: Unicode.Scalar) -> Bool {
      scalar.properties.isWhitespace || scalar == "\u{FEFF}"
    }
    func trim() {
      while let first = scalars.first, isOutside(first) { scalars.removeFirst() }
      while let last = scalars.last, isOutside(last) { scalars.removeLast() }
    }
    trim()
    if scalars.count >= 2, let quote = scalars.first, quote == "\"" || quote == "'", scalars.last == quote {
      scalars = scalars.dropFirst().dropLast()
      trim()
    }
    return String(String.UnicodeScalarView(scalars))
  }

  private static func object(
    _ segment: Substring, orElse encoding: FailureDetail.Login, _ syntax: FailureDetail.Login
  ) throws(Failure) -> [String: JSONValue] {
    guard let bytes = decode(segment), !bytes.isEmpty else {
      throw invalid(.login(encoding))
    }
    guard case .object(let object)? = try? JSONDecoder().decode(JSONValue.self, from: Data(bytes)) else {
      throw invalid(.login(syntax))
    }
    return object
  }

  /// Decodes base64url (RFC 4648 §5), with or without padding; with `isLenient`, also the standard alphabet.
  private static func decode(_ text: Substring, isLenient: Bool = false) -> [UInt8]? {
    var standard: [UInt8] = []
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "-"): standard.append(UInt8(ascii: "+"))
      case UInt8(ascii: "_"): standard.append(UInt8(ascii: "/"))
      case UInt8(ascii: "="): continue
      case UInt8(ascii: "+"), UInt8(ascii: "/"):
        guard isLenient else { return nil }
        standard.append(byte)
      default: standard.append(byte)
      }
    }
    while !standard.count.isMultiple(of: 4) { standard.append(UInt8(ascii: "=")) }
    return Base64.decode(String(decoding: standard, as: UTF8.self))
  }

  private static func invalid(_ reason: FailureDetail) -> Failure {
    Failure(.invalidToken, stage: .authenticate, detail: reason)
  }
}

extension JSONValue {
  package var text: String? { if case .string(let text) = self { text } else { nil } }
}
