/// SCRAM (RFC 5802; SHA-256: RFC 7677; SHA-512: draft-melnikov-scram-sha-512).
///
/// The client proves that it knows the password without sending it, and the server must prove the same:
/// success without the server's signature is an error.
public struct SCRAMMechanism: SASLMechanism {
  public let name: SASLMechanismName

  private let hash: Digest
  /// After SASLprep.
  private let userName: String
  private let authzid: String?
  /// After SASLprep; nil where only stored keys can serve.
  private let password: Secret?
  private let storedKeys: [SCRAMKeys]
  private let binding: SCRAMChannelBinding
  private let clientNonce: String
  private var state: State = .start

  private enum State: Sendable {
    case start
    /// The client-first message has gone out; kept without its GS2 header, for the signature.
    case firstSent(clientFirstBare: String)
    case deriving(SCRAMExchange)
    case finalSent(serverSignature: [UInt8])
    /// The server has proved itself in a challenge; its success is missing.
    case verified
    case ended
  }

  /// `nonce` (printable, no comma) is for published vectors; without it one of 24 random bytes is made.
  ///
  /// Throws `invalidUserName` or `invalidPassword` for what SASLprep refuses.
  public init(
    hash: Digest,
    credentials: SASLCredentials,
    binding: SCRAMChannelBinding = .unsupported,
    nonce: String? = nil
  ) throws(SASLError) {
    name = .scram(hash, bindsChannel: binding.isRequired)
    self.hash = hash
    self.binding = binding
    userName = try Self.prepare(userName: credentials.authcid)
    authzid = credentials.authzid.flatMap { $0.isEmpty ? nil : $0 }
    guard authzid?.utf8.contains(0) != true else {
      throw SASLError(.invalidUserName, "the name to act as holds a NUL")
    }
    password = try credentials.password.map { (password) throws(SASLError) in
      try Self.prepare(password: password)
    }
    storedKeys = credentials.scramKeys.filter { $0.hash == hash }
    clientNonce = if let nonce { nonce } else { Base64.encode(try randomBytes(count: 24)) }
  }

  public mutating func initialResponse() throws(SASLError) -> [UInt8]? {
    guard case .start = take() else { throw SASLError(.misuse, "SCRAM has begun already") }
    let clientFirstBare = "n=\(escape(userName)),r=\(clientNonce)"
    state = .firstSent(clientFirstBare: clientFirstBare)
    return Array((gs2Header + clientFirstBare).utf8)
  }

  public mutating func challenge(_ data: [UInt8]) throws(SASLError) -> SASLStep {
    switch take() {
    case .firstSent(let clientFirstBare):
      return try answer(serverFirst: data, clientFirstBare: clientFirstBare)
    case .finalSent(let serverSignature):
      try verify(serverFinal: data, against: serverSignature)
      state = .verified
      return .respond([])
    case .start, .deriving, .verified, .ended:
      throw SASLError(.unexpectedChallenge, "a challenge where SCRAM has none")
    }
  }

  public mutating func derived(_ keys: SCRAMKeys) throws(SASLError) -> SASLStep {
    guard case .deriving(let exchange) = take() else {
      throw SASLError(.misuse, "SCRAM asked for no keys")
    }
    return try prove(exchange, with: keys)
  }

  public mutating func success(_ additionalData: [UInt8]?) throws(SASLError) {
    switch take() {
    case .finalSent(let serverSignature):
      guard let additionalData, !additionalData.isEmpty else {
        throw SASLError(.serverSignatureMissing, "the server has not proved that it knows the password")
      }
      try verify(serverFinal: additionalData, against: serverSignature)
    case .verified:
      guard additionalData?.isEmpty ?? true else {
        throw SASLError(.malformed, "the server's success holds more than SCRAM has")
      }
    case .start, .firstSent, .deriving, .ended:
      throw SASLError(.unexpectedSuccess, "success before the client has authenticated")
    }
  }
}

extension SCRAMMechanism {
  /// The state, leaving the end behind: whoever does not set another one has failed.
  private mutating func take() -> State {
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

    let bound = Base64.encode(Array(gs2Header.utf8) + binding.data)
    let exchange = SCRAMExchange(
      serverFirst: serverFirst, clientFirstBare: Array(clientFirstBare.utf8), serverFirstBytes: data,
      clientFinalWithoutProof: Array("c=\(bound),r=\(serverFirst.nonce)".utf8))
    let keys = storedKeys.first {
      $0.belong(toHash: hash, salt: serverFirst.salt, iterations: serverFirst.iterations)
    }
    if let keys { return try prove(exchange, with: keys) }
    guard let password else {
      throw SASLError(.keysOutdated, "the stored keys no longer fit the server: the password is needed")
    }
    let request = try SCRAMKeyRequest(
      hash: hash, salt: serverFirst.salt, iterations: serverFirst.iterations, password: password)
    state = .deriving(exchange)
    return .derive(request)
  }

  private mutating func prove(_ exchange: SCRAMExchange, with keys: SCRAMKeys) throws(SASLError) -> SASLStep {
    let serverFirst = exchange.serverFirst
    guard keys.belong(toHash: hash, salt: serverFirst.salt, iterations: serverFirst.iterations) else {
      throw SASLError(.misuse, "these keys answer another request")
    }
    let message = exchange.clientFinal(proof: try exchange.proof(keys))
    state = .finalSent(serverSignature: try exchange.serverSignature(keys))
    return .respond(message)
  }

  private func verify(serverFinal data: [UInt8], against expected: [UInt8]) throws(SASLError) {
    let signature = try SCRAMServerFinal(data).signature
    let isRight = signature.withUnsafeBytes { signature in
      expected.withUnsafeBytes { constantTimeEqual(signature, $0) }
    }
    guard isRight else {
      throw SASLError(
        .serverSignatureMismatch, "the server's signature is wrong: it does not know the password")
    }
  }

  /// `n,,` and its relatives (RFC 5801 §4).
  private var gs2Header: String {
    let authzid = authzid.map { "a=\(escape($0))" } ?? ""
    return "\(binding.flag),\(authzid),"
  }

  /// `saslname`: `,` and `=` have a meaning of their own (RFC 5802 §5.1).
  private func escape(_ name: String) -> String {
    name.unicodeScalars.reduce(into: "") { result, scalar in
      switch scalar {
      case ",": result += "=2C"
      case "=": result += "=3D"
      default: result.unicodeScalars.append(scalar)
      }
    }
  }

  private static func prepare(userName: String) throws(SASLError) -> String {
    guard let prepared = try SASLPrep.prepare(userName, for: .query), !prepared.isEmpty else {
      throw SASLError(.invalidUserName, "the user name is empty or holds a character that SASLprep forbids")
    }
    return String(decoding: prepared, as: UTF8.self)
  }

  private static func prepare(password: Secret) throws(SASLError) -> Secret {
    guard let text = password.revealed(), var prepared = try SASLPrep.prepare(text, for: .stored),
      !prepared.isEmpty
    else {
      throw SASLError(.invalidPassword, "the password is empty or holds a character that SASLprep forbids")
    }
    return Secret(wiping: &prepared)
  }

  static func candidate(_ hash: Digest) -> SASLCandidate {
    SASLCandidate(
      name: .scram(hash, bindsChannel: false),
      showsPassword: false,
      accepts: { $0.password != nil || $0.scramKeys.contains { $0.hash == hash } },
      make: { (credentials, _) throws(SASLError) in try SCRAMMechanism(hash: hash, credentials: credentials) }
    )
  }
}

extension SASLMechanismName {
  static func scram(_ hash: Digest, bindsChannel: Bool) -> Self {
    Self("SCRAM-\(hash.rawValue)\(bindsChannel ? "-PLUS" : "")")
  }
}

/// What SCRAM says about the TLS channel (RFC 5802 §6).
public enum SCRAMChannelBinding: Sendable, Hashable {
  /// The client cannot bind.
  case unsupported
  /// The client could, but believes that the server cannot: an attacker who removed the offer is found out.
  case notOffered
  /// Bound to this channel.
  case required(ChannelBindingType, data: [UInt8])

  var isRequired: Bool {
    if case .required = self { true } else { false }
  }

  var flag: String {
    switch self {
    case .unsupported: "n"
    case .notOffered: "y"
    case .required(let type, _): "p=\(type)"
    }
  }

  var data: [UInt8] {
    if case .required(_, let data) = self { data } else { [] }
  }
}
