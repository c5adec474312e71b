/// The reason why this side stopped an authentication.
///
/// A SASL `<failure/>` of the server (RFC 6120 §6.5) is an error of the stream instead. `message` is safe for terminals
/// and logs: it never contains a password, a key, a nonce, or text of the server beyond letters, digits and `-`.
public struct SASLError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of error, extensible for later mechanisms.
  public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public var description: String { rawValue }
  }

  public let code: Code
  public let message: String
  /// The value of SCRAM's `e=` (RFC 5802 §7), for example `invalid-proof`; only with ``Code/serverError``.
  public let serverValue: String?
  /// The sentence of the message, for translation; nil for other messages.
  public let sentence: Sentence?
  /// The arguments of the sentence, in the order of its places.
  public let arguments: [String]

  public init(
    _ code: Code, _ message: String, _ sentence: Sentence? = nil, _ arguments: String...,
    serverValue: String? = nil
  ) {
    self.code = code
    self.message = message
    self.sentence = sentence
    self.arguments = arguments
    self.serverValue = serverValue
  }

  /// The sentences about problems that users can solve.
  public enum Sentence: String, CaseIterable, Sendable {
    case noneOffered, noUsableForPassword, noUsableForToken, noUsableForCertificate, noUsableForAnonymous
    case tokenWithoutTLS, passwordWithoutTLS, passwordBesideSCRAM, needsCertificate
    case weaker, offerChanged, passwordCharacters, userCharacters, tokenCharacters
    case keysOutdated, keysUnusable, passwordUnproved, tokenUnproved, wrongSignature, wrongProof
  }

  public var description: String { "\(code): \(message)" }

  /// Whether the server violated the mechanism or failed to prove its identity. Such a server must not be tried again
  /// with the same secret.
  public var isProtocolViolation: Bool { Code.protocolViolations.contains(code) }
}

extension SASLError.Code {
  // Before anything is sent.

  /// The server and the client have no mechanism in common for these credentials.
  public static let mechanismUnavailable = Self(rawValue: "mechanismUnavailable")
  /// Every remaining mechanism would reveal the password: without TLS, or although the server has SCRAM.
  public static let plainRefused = Self(rawValue: "plainRefused")
  /// The offer is weaker than the server's earlier one, or was modified in transit.
  public static let downgrade = Self(rawValue: "downgrade")
  /// The password is empty, or SASLprep forbids a character of it.
  public static let invalidPassword = Self(rawValue: "invalidPassword")
  /// The token is empty or contains an invalid character.
  public static let invalidToken = Self(rawValue: "invalidToken")
  /// The user name is empty, or SASLprep forbids a character of it.
  public static let invalidUserName = Self(rawValue: "invalidUserName")

  // Caused by the server.

  /// The message does not follow the mechanism's grammar.
  public static let malformed = Self(rawValue: "malformed")
  /// The message exceeds the size limit.
  public static let tooLarge = Self(rawValue: "tooLarge")
  /// The server's nonce does not continue ours.
  public static let nonceMismatch = Self(rawValue: "nonceMismatch")
  /// The number of iterations is outside ``SCRAMKeyRequest/iterationRange``.
  public static let iterationsOutOfRange = Self(rawValue: "iterationsOutOfRange")
  /// The server demands an extension (`m=`).
  public static let unsupportedExtension = Self(rawValue: "unsupportedExtension")
  /// Success without the server's signature.
  public static let serverSignatureMissing = Self(rawValue: "serverSignatureMissing")
  /// The server does not know the password or token.
  public static let serverSignatureMismatch = Self(rawValue: "serverSignatureMismatch")
  /// The mechanism has no challenge at this point.
  public static let unexpectedChallenge = Self(rawValue: "unexpectedChallenge")
  /// The server reported success before the client has authenticated.
  public static let unexpectedSuccess = Self(rawValue: "unexpectedSuccess")
  /// The server's refusal within the mechanism, SCRAM's `e=`: see ``SASLError/serverValue``.
  public static let serverError = Self(rawValue: "serverError")

  // Caused by this side.

  /// The stored keys are for another salt, iteration count or hash, and there is no password for new ones.
  public static let keysOutdated = Self(rawValue: "keysOutdated")
  /// The caller used a mechanism out of order.
  public static let misuse = Self(rawValue: "misuse")
  /// OpenSSL or ICU has failed.
  public static let libraryFailure = Self(rawValue: "libraryFailure")

  static let protocolViolations: Set<Self> = [
    .malformed, .tooLarge, .nonceMismatch, .iterationsOutOfRange, .unsupportedExtension,
    .serverSignatureMissing,
    .serverSignatureMismatch, .unexpectedChallenge, .unexpectedSuccess,
  ]
}
