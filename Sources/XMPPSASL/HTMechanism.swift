/// The hashed token mechanisms (draft-schmaus-kitten-sasl-ht) of FAST (XEP-0484): one message in each direction proves
/// knowledge of the token and binds it to the TLS connection.
public struct HTMechanism: SASLMechanism {
  public let name: SASLMechanismName

  private let authcid: String
  private let token: Secret
  private let bindingData: [UInt8]
  private var state = State.start

  private enum State: Sendable {
    case start, sent, ended
  }

  /// The mechanisms with their channel bindings, strongest first.
  static let bindings: [(name: SASLMechanismName, type: ChannelBindingType?)] = [
    (.htSHA256Exporter, .tlsExporter), (.htSHA256Unique, .tlsUnique),
    (.htSHA256EndPoint, .tlsServerEndPoint), (.htSHA256None, nil),
  ]

  /// Throws `mechanismUnavailable` where the mechanism is unknown or TLS lacks its channel binding, `invalidToken` for
  /// an empty token, `invalidUserName` for a name that is empty or contains a NUL.
  public init(authcid: String, token: FASTToken, context: SASLContext) throws(SASLError) {
    guard let bindingData = Self.bindingData(for: token.mechanism, context) else {
      throw SASLError(.mechanismUnavailable, "\(token.mechanism) cannot be used with this connection")
    }
    guard !token.secret.isEmpty else { throw SASLError(.invalidToken, "the token is empty") }
    guard !authcid.isEmpty, !authcid.utf8.contains(0) else {
      throw SASLError(.invalidUserName, "the user name is empty or holds a NUL")
    }
    name = token.mechanism
    self.authcid = authcid
    self.token = token.secret
    self.bindingData = bindingData
  }

  /// The channel binding data that a mechanism signs; nil where it cannot be used. All mechanisms require TLS, since
  /// the message of HT-SHA-256-NONE can be replayed.
  static func bindingData(for mechanism: SASLMechanismName, _ context: SASLContext) -> [UInt8]? {
    guard context.isEncrypted, let binding = bindings.first(where: { $0.name == mechanism }) else {
      return nil
    }
    guard let type = binding.type else { return [] }
    return context.channelBindings[type]
  }

  public mutating func initialResponse() throws(SASLError) -> [UInt8]? {
    guard case .start = consumeState() else { throw SASLError(.misuse, "\(name) has begun already") }
    let message = Array(authcid.utf8) + [0] + (try signature(of: "Initiator"))
    state = .sent
    return message
  }

  public mutating func challenge(_ data: [UInt8]) throws(SASLError) -> SASLStep {
    state = .ended
    throw SASLError(.unexpectedChallenge, "\(name) has no challenges")
  }

  public mutating func success(_ additionalData: [UInt8]?) throws(SASLError) {
    guard case .sent = consumeState() else {
      throw SASLError(.unexpectedSuccess, "success before the client has authenticated")
    }
    guard let additionalData, !additionalData.isEmpty else {
      throw SASLError(
        .serverSignatureMissing, "the server has not proved that it knows the token", .tokenUnproved)
    }
    let expected = try signature(of: "Responder")
    let isRight = additionalData.withUnsafeBytes { additionalData in
      expected.withUnsafeBytes { constantTimeEqual(additionalData, $0) }
    }
    guard isRight else {
      throw SASLError(
        .serverSignatureMismatch, "the server's proof is wrong: it does not know the token", .wrongProof)
    }
  }

  /// Returns the state and replaces it with the end, so that every error path has ended.
  private mutating func consumeState() -> State {
    defer { state = .ended }
    return state
  }

  private func signature(of side: String) throws(SASLError) -> [UInt8] {
    try Digest.sha256.hmac(key: token, Array(side.utf8) + bindingData)
  }
}
