/// A mechanism with a single message of the client and no proof by the server, which TLS has authenticated: PLAIN,
/// X-OAUTH2, EXTERNAL and ANONYMOUS.
public struct SingleMessageMechanism: SASLMechanism {
  public let name: SASLMechanismName
  private var state: State

  private enum State: Sendable {
    case start(Secret)
    case sent
    case ended
  }

  private init(_ name: SASLMechanismName, message: Secret) {
    self.name = name
    state = .start(message)
  }

  public mutating func initialResponse() throws(SASLError) -> [UInt8]? {
    guard case .start(let message) = state else {
      state = .ended
      throw SASLError(.misuse, "\(name) has one message only")
    }
    state = .sent
    return message.withBytes { Array($0) }
  }

  public mutating func challenge(_ data: [UInt8]) throws(SASLError) -> SASLStep {
    state = .ended
    throw SASLError(.unexpectedChallenge, "\(name) has no challenges")
  }

  /// Additional data has no meaning and is ignored: some servers send an empty one.
  public mutating func success(_ additionalData: [UInt8]?) throws(SASLError) {
    defer { state = .ended }
    guard case .sent = state else {
      throw SASLError(.unexpectedSuccess, "success before the client has authenticated")
    }
  }
}

extension SingleMessageMechanism {
  /// PLAIN (RFC 4616): sends the password itself and therefore requires TLS. Servers with tokens but without a
  /// mechanism for them accept a token as the password.
  ///
  /// User name and password are sent unprepared: the server prepares them (RFC 4616 §2).
  ///
  /// Throws `invalidUserName` or `invalidPassword` for a value that is empty or contains a NUL, which separates the
  /// parts.
  public static func plain(_ credentials: SASLCredentials) throws(SASLError) -> Self {
    guard let password = credentials.password, !password.isEmpty,
      !password.withBytes({ $0.contains(0) })
    else { throw SASLError(.invalidPassword, "the password is empty or holds a NUL") }
    return try Self(.plain, credentials, showing: password)
  }

  /// X-OAUTH2, as in ejabberd: PLAIN with a bearer token as the password.
  ///
  /// Throws `invalidUserName` or `invalidToken`.
  public static func xOAuth2(_ credentials: SASLCredentials) throws(SASLError) -> Self {
    try Self(.xOAuth2, credentials, showing: try credentials.checkedBearerToken())
  }

  /// EXTERNAL (RFC 4422 appendix A): the TLS certificate identifies the client. The message is the authorization
  /// identity, empty for the certificate's own.
  ///
  /// Throws `invalidUserName` for an identity with a NUL.
  public static func external(_ credentials: SASLCredentials) throws(SASLError) -> Self {
    let authzid = credentials.authzid ?? ""
    guard !authzid.utf8.contains(0) else {
      throw SASLError(.invalidUserName, "the name to act as holds a NUL")
    }
    return Self(.external, message: Secret(authzid))
  }

  /// ANONYMOUS (RFC 4505), without trace information.
  public static func anonymous() -> Self { Self(.anonymous, message: Secret("")) }

  /// `authzid NUL authcid NUL secret`.
  private init(
    _ name: SASLMechanismName, _ credentials: SASLCredentials, showing secret: Secret
  ) throws(SASLError) {
    let authzid = credentials.authzid ?? ""
    guard !credentials.authcid.isEmpty, !credentials.authcid.utf8.contains(0), !authzid.utf8.contains(0)
    else { throw SASLError(.invalidUserName, "the user name is empty or holds a NUL") }
    var message = Array(authzid.utf8) + [0] + Array(credentials.authcid.utf8) + [0]
    secret.withBytes { message.append(contentsOf: $0) }
    self.init(name, message: Secret(wiping: &message))
  }

  static let plainCandidate = SASLCandidate(
    name: .plain, kind: .password, shows: .password,
    accepts: { $0.password != nil },
    make: { (credentials, _, _) throws(SASLError) in try plain(credentials) })

  static let xOAuth2Candidate = SASLCandidate(
    name: .xOAuth2, kind: .bearerToken, shows: .token,
    make: { (credentials, _, _) throws(SASLError) in try xOAuth2(credentials) })

  static let externalCandidate = SASLCandidate(
    name: .external, kind: .certificate, shows: .identity,
    make: { (credentials, _, _) throws(SASLError) in try external(credentials) })

  static let anonymousCandidate = SASLCandidate(
    name: .anonymous, kind: .anonymous, shows: .nothing,
    make: { (_, _, _) throws(SASLError) in anonymous() })
}
