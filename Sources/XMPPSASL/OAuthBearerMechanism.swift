/// OAUTHBEARER (RFC 7628): a bearer token (RFC 6750), which the server sees and which therefore requires TLS.
///
/// A server that refuses the token gives the reason in a challenge, which is in ``refusal`` when the failure follows.
public struct OAuthBearerMechanism: SASLMechanism {
  public let name = SASLMechanismName.oauthBearer
  public private(set) var refusal: SASLRefusal?
  private var state: State

  private enum State: Sendable {
    case start(Secret)
    case sent
    case ended
  }

  /// The name of the pair that carries ``SASLCredentials/loginExtension``. Keys have letters only (RFC 7628 §3.1). In
  /// the value, `%` and bytes outside printable ASCII are encoded as `%` and two hexadecimal digits.
  public static let loginExtensionKey = "loginext"

  /// Throws `invalidToken`, or `invalidUserName` for an identity with a NUL.
  public init(credentials: SASLCredentials) throws(SASLError) {
    let token = try credentials.checkedBearerToken()
    let header = try GS2Header(flag: "n", authzid: credentials.authzid)
    // The token comes first, because some servers read only the first pair.
    var message = Array("\(header)\u{1}auth=Bearer ".utf8)
    token.withBytes { message.append(contentsOf: $0) }
    message.append(1)
    if let text = credentials.loginExtension, !text.isEmpty {
      message += Array("\(Self.loginExtensionKey)=\(Self.escape(text))\u{1}".utf8)
    }
    message.append(1)
    state = .start(Secret(wiping: &message))
  }

  private static func escape(_ text: String) -> String {
    text.utf8.reduce(into: "") { result, byte in
      if (0x20...0x7E).contains(byte), byte != UInt8(ascii: "%") {
        result.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        result += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
      }
    }
  }

  public mutating func initialResponse() throws(SASLError) -> [UInt8]? {
    guard case .start(let message) = state else {
      state = .ended
      throw SASLError(.misuse, "\(name) has begun already")
    }
    state = .sent
    return message.withBytes { Array($0) }
  }

  /// The answer to the server's refusal (RFC 7628 §3.2.2), after which the server sends the failure.
  public mutating func challenge(_ data: [UInt8]) throws(SASLError) -> SASLStep {
    defer { state = .ended }
    guard case .sent = state else {
      throw SASLError(.unexpectedChallenge, "a challenge where \(name) has none")
    }
    refusal = try SASLRefusal(json: data)
    return .respond([1])
  }

  public mutating func success(_ additionalData: [UInt8]?) throws(SASLError) {
    defer { state = .ended }
    guard case .sent = state else {
      throw SASLError(.unexpectedSuccess, "success where the server has refused, or was not asked yet")
    }
  }

  static let candidate = SASLCandidate(
    name: .oauthBearer, kind: .bearerToken, shows: .token,
    make: { (credentials, _, _) throws(SASLError) in try OAuthBearerMechanism(credentials: credentials) })
}

extension SASLCredentials {
  /// The token; throws if it is not printable ASCII without spaces (RFC 6750 §2.1 allows less).
  func checkedBearerToken() throws(SASLError) -> Secret {
    guard let bearerToken, !bearerToken.isEmpty,
      bearerToken.withBytes({ $0.allSatisfy { (0x21...0x7E).contains($0) } })
    else {
      throw SASLError(
        .invalidToken, "the token is empty or contains a character that is not allowed in tokens",
        .tokenCharacters)
    }
    return bearerToken
  }
}
