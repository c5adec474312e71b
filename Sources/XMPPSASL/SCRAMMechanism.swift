/// SCRAM (RFC 5802; SHA-256: RFC 7677; SHA-512: draft-melnikov-scram-sha-512).
///
/// The client proves that it knows the password without sending it, and the server must prove the same: success without
/// the server's signature is an error.
public struct SCRAMMechanism: SASLMechanism {
  public let name: SASLMechanismName

  private let hash: Digest
  /// After SASLprep.
  private let userName: String
  private let header: GS2Header
  /// After SASLprep; nil where only stored keys can serve.
  private let password: Secret?
  private let storedKeys: [SCRAMKeys]
  private let binding: SCRAMChannelBinding
  private let clientNonce: String
  private var offer: SASLOffer?
  private var state: State = .start

  private enum State: Sendable {
    case start
    /// The client-first message was sent; it is kept without its GS2 header for the signature.
    case firstSent(clientFirstBare: String)
    case deriving(SCRAMExchange)
    case finalSent(serverSignature: [UInt8], SCRAMKeys)
    /// The server has proved its identity in a challenge; its success is outstanding.
    case verified(SCRAMKeys)
    case succeeded(SCRAMKeys)
    case ended
  }

  /// - Parameters:
  ///   - offer: the server's offer, to be compared with the signed one (XEP-0474).
  ///   - nonce: a nonce for test vectors (printable, no comma); by default 24 random bytes.
  ///
  /// Throws `invalidUserName` or `invalidPassword` for a value that SASLprep forbids.
  public init(
    hash: Digest,
    credentials: SASLCredentials,
    binding: SCRAMChannelBinding = .unsupported,
    offer: SASLOffer? = nil,
    nonce: String? = nil
  ) throws(SASLError) {
    name = .scram(hash, bindsChannel: binding.isRequired)
    self.hash = hash
    self.binding = binding
    self.offer = offer
    userName = try Self.prepare(userName: credentials.authcid)
    header = try GS2Header(flag: binding.flag, authzid: credentials.authzid)
    password = try credentials.password.map { (password) throws(SASLError) in
      try Self.prepare(password: password)
    }
    storedKeys = credentials.scramKeys.filter { $0.hash == hash }
    clientNonce = if let nonce { nonce } else { Base64.encode(try randomBytes(count: 24)) }
  }

  public mutating func initialResponse() throws(SASLError) -> [UInt8]? {
    guard case .start = consumeState() else { throw SASLError(.misuse, "SCRAM has begun already") }
    let clientFirstBare = "n=\(GS2Header.escape(userName)),r=\(clientNonce)"
    state = .firstSent(clientFirstBare: clientFirstBare)
    return Array("\(header)\(clientFirstBare)".utf8)
  }

  public mutating func offered(_ offer: SASLOffer) { self.offer = offer }

  public var contradictsOffer: Bool { offer.map(binding.contradicts) ?? false }

  public mutating func challenge(_ data: [UInt8]) throws(SASLError) -> SASLStep {
    switch consumeState() {
    case .firstSent(let clientFirstBare):
      return try answer(serverFirst: data, clientFirstBare: clientFirstBare)
    case .finalSent(let serverSignature, let keys):
      try verify(serverFinal: data, against: serverSignature)
      state = .verified(keys)
      return .respond([])
    case .start, .deriving, .verified, .succeeded, .ended:
      throw SASLError(.unexpectedChallenge, "a challenge where SCRAM has none")
    }
  }

  public mutating func derived(_ keys: SCRAMKeys) throws(SASLError) -> SASLStep {
    guard case .deriving(let exchange) = consumeState() else {
      throw SASLError(.misuse, "SCRAM asked for no keys")
    }
    return try prove(exchange, with: keys)
  }

  public mutating func success(_ additionalData: [UInt8]?) throws(SASLError) {
    switch consumeState() {
    case .finalSent(let serverSignature, let keys):
      guard let additionalData, !additionalData.isEmpty else {
        throw SASLError(
          .serverSignatureMissing, "the server has not proved that it knows the password", .passwordUnproved)
      }
      try verify(serverFinal: additionalData, against: serverSignature)
      state = .succeeded(keys)
    case .verified(let keys):
      guard additionalData?.isEmpty ?? true else {
        throw SASLError(.malformed, "the server's success holds more than SCRAM has")
      }
      state = .succeeded(keys)
    case .start, .firstSent, .deriving, .succeeded, .ended:
      throw SASLError(.unexpectedSuccess, "success before the client has authenticated")
    }
  }

  public var scramKeys: SCRAMKeys? {
    if case .succeeded(let keys) = state { keys } else { nil }
  }
}

extension SCRAMMechanism {
  /// Returns the state and replaces it with the end, so that every error path has ended.
  private mutating func consumeState() -> State {
    defer { state = .ended }
    return state
  }

  private mutating func answer(
    serverFirst data: [UInt8], clientFirstBare: String
  ) throws(SASLError) -> SASLStep {
    let serverFirst = try SCRAMServerFirst(data)
    guard serverFirst.nonce.utf8.starts(with: clientNonce.utf8),
      serverFirst.nonce.utf8.count > clientNonce.utf8.count
    else { throw SASLError(.nonceMismatch, "the server's nonce does not continue the client's") }
    try refuseDowngrade(serverFirst)

    let bound = Base64.encode(Array(header.description.utf8) + binding.data)
    let exchange = SCRAMExchange(
      serverFirst: serverFirst, clientFirstBare: Array(clientFirstBare.utf8), serverFirstBytes: data,
      clientFinalWithoutProof: Array("c=\(bound),r=\(serverFirst.nonce)".utf8))
    let keys = storedKeys.first {
      $0.belong(toHash: hash, salt: serverFirst.salt, iterations: serverFirst.iterations)
    }
    if let keys { return try prove(exchange, with: keys) }
    guard let password else {
      throw SASLError(
        .keysOutdated, "the stored keys no longer match the server: the password is needed", .keysOutdated)
    }
    let request = try SCRAMKeyRequest(
      hash: hash, salt: serverFirst.salt, iterations: serverFirst.iterations, password: password)
    state = .deriving(exchange)
    return .derive(request)
  }

  /// Compares the offer that the server has signed with the one that has arrived (XEP-0474 §5.2).
  private func refuseDowngrade(_ serverFirst: SCRAMServerFirst) throws(SASLError) {
    guard let offer, let claimed = serverFirst.offerHash, claimed != (try offer.hash(hash)) else { return }
    throw SASLError(
      .downgrade,
      "downgrade: the mechanisms or channel bindings that the server offers were changed in transit",
      .offerChanged)
  }

  private mutating func prove(_ exchange: SCRAMExchange, with keys: SCRAMKeys) throws(SASLError) -> SASLStep {
    let serverFirst = exchange.serverFirst
    guard keys.belong(toHash: hash, salt: serverFirst.salt, iterations: serverFirst.iterations) else {
      throw SASLError(.misuse, "these keys answer another request")
    }
    let message = exchange.clientFinal(proof: try exchange.proof(keys))
    state = .finalSent(serverSignature: try exchange.serverSignature(keys), keys)
    return .respond(message)
  }

  private func verify(serverFinal data: [UInt8], against expected: [UInt8]) throws(SASLError) {
    let signature = try SCRAMServerFinal(data).signature
    let isRight = signature.withUnsafeBytes { signature in
      expected.withUnsafeBytes { constantTimeEqual(signature, $0) }
    }
    guard isRight else {
      throw SASLError(
        .serverSignatureMismatch, "the server's signature is wrong: it does not know the password",
        .wrongSignature)
    }
  }

  private static func prepare(userName: String) throws(SASLError) -> String {
    guard let prepared = try SASLPrep.prepare(userName, for: .query), !prepared.isEmpty else {
      throw SASLError(
        .invalidUserName, "the user name is empty or contains a character that SASLprep forbids",
        .userCharacters
      )
    }
    return String(decoding: prepared, as: UTF8.self)
  }

  private static func prepare(password: Secret) throws(SASLError) -> Secret {
    guard let text = password.revealed(), var prepared = try SASLPrep.prepare(text, for: .stored),
      !prepared.isEmpty
    else {
      throw SASLError(
        .invalidPassword, "the password is empty or contains a character that SASLprep forbids",
        .passwordCharacters)
    }
    return Secret(wiping: &prepared)
  }

  static func candidate(_ hash: Digest, bindsChannel: Bool) -> SASLCandidate {
    SASLCandidate(
      name: .scram(hash, bindsChannel: bindsChannel), kind: .password, shows: .nothing,
      accepts: { $0.password != nil || $0.scramKeys.contains { $0.hash == hash } },
      make: { (credentials, offer, context) throws(SASLError) in
        let common = SCRAMChannelBinding.common(offer, context)
        guard let binding = bindsChannel ? common : .absent(offer, context) else {
          throw SASLError(.mechanismUnavailable, SCRAMChannelBinding.lack(offer, context))
        }
        return try SCRAMMechanism(hash: hash, credentials: credentials, binding: binding, offer: offer)
      })
  }
}

extension SASLMechanismName {
  static func scram(_ hash: Digest, bindsChannel: Bool) -> Self {
    Self("SCRAM-\(hash.rawValue)\(bindsChannel ? "-PLUS" : "")")
  }
}
