/// PLAIN (RFC 4616): the password itself, therefore only inside TLS.
///
/// User name and password are sent as they are: preparing them is the server's part (RFC 4616 §2).
public struct PlainMechanism: SASLMechanism {
  public let name = SASLMechanismName.plain
  private var state: State

  private enum State: Sendable {
    case start(Secret)
    case sent
    case ended
  }

  /// Throws `invalidUserName` or `invalidPassword` for what is empty or holds a NUL, which separates the
  /// parts.
  public init(credentials: SASLCredentials) throws(SASLError) {
    guard let password = credentials.password, !password.isEmpty,
      !password.withBytes({ $0.contains(0) })
    else { throw SASLError(.invalidPassword, "the password is empty or holds a NUL") }
    let authzid = credentials.authzid ?? ""
    guard !credentials.authcid.isEmpty, !credentials.authcid.utf8.contains(0), !authzid.utf8.contains(0)
    else { throw SASLError(.invalidUserName, "the user name is empty or holds a NUL") }

    var message = Array(authzid.utf8) + [0] + Array(credentials.authcid.utf8) + [0]
    password.withBytes { message.append(contentsOf: $0) }
    state = .start(Secret(wiping: &message))
  }

  public mutating func initialResponse() throws(SASLError) -> [UInt8]? {
    guard case .start(let message) = state else {
      state = .ended
      throw SASLError(.misuse, "PLAIN has one message only")
    }
    state = .sent
    return message.withBytes { Array($0) }
  }

  public mutating func challenge(_ data: [UInt8]) throws(SASLError) -> SASLStep {
    state = .ended
    throw SASLError(.unexpectedChallenge, "PLAIN has no challenges")
  }

  /// The server proves nothing: TLS has, before. Additional data has no meaning and is ignored: some servers
  /// send an empty one.
  public mutating func success(_ additionalData: [UInt8]?) throws(SASLError) {
    defer { state = .ended }
    guard case .sent = state else {
      throw SASLError(.unexpectedSuccess, "success before the client has authenticated")
    }
  }
}

extension PlainMechanism {
  static let candidate = SASLCandidate(
    name: .plain,
    showsPassword: true,
    accepts: { $0.password != nil },
    make: { (credentials, _) throws(SASLError) in try PlainMechanism(credentials: credentials) })
}
