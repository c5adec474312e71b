/// Why an authentication stopped, on this side.
///
/// A SASL `<failure/>` from the server (RFC 6120 §6.5) is not one of these: it belongs to the stream.
/// `message` is fit for a terminal and a log: it never holds a password, a key, a nonce, or text of the
/// server beyond letters, digits and `-`.
public struct SASLError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What went wrong; later mechanisms add their own.
  public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public var description: String { rawValue }
  }

  public let code: Code
  public let message: String
  /// The value of SCRAM's `e=` (RFC 5802 §7), for example `invalid-proof`; only with ``Code/serverError``.
  public let serverValue: String?
  /// Which sentence the message is, for whoever translates it; nil where it is none of these.
  public let sentence: Sentence?
  /// What stands in the sentence, in the order of its places.
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

  /// The sentences that people may do something about.
  public enum Sentence: String, CaseIterable, Sendable {
    case noneOffered, noUsableForPassword, noUsableForToken, noUsableForCertificate, noUsableForAnonymous
    case tokenWithoutTLS, passwordWithoutTLS, passwordBesideSCRAM, needsCertificate
    case weaker, offerChanged, passwordCharacters, userCharacters, tokenCharacters
    case keysOutdated, keysUnusable, passwordUnproved, tokenUnproved, wrongSignature, wrongProof
  }

  public var description: String { "\(code): \(message)" }

  /// Whether the server broke the mechanism's rules or failed to prove itself.
  /// Such a server must not be tried again with the same secret.
  public var isProtocolViolation: Bool { Code.protocolViolations.contains(code) }
}

extension SASLError.Code {
  // Before anything is sent.

  /// Server and client have no mechanism in common that these credentials can serve.
  public static let mechanismUnavailable = Self(rawValue: "mechanismUnavailable")
  /// The only way left would show the password: without TLS, or where the server has SCRAM.
  public static let plainRefused = Self(rawValue: "plainRefused")
  /// All that is offered is weaker than what this server was known to do, or the offer was changed on its way.
  public static let downgrade = Self(rawValue: "downgrade")
  /// The password is empty, or SASLprep forbids a character of it.
  public static let invalidPassword = Self(rawValue: "invalidPassword")
  /// The token is empty, or holds a character that tokens do not have.
  public static let invalidToken = Self(rawValue: "invalidToken")
  /// The user name is empty, or SASLprep forbids a character of it.
  public static let invalidUserName = Self(rawValue: "invalidUserName")

  // What the server did.

  /// The message does not follow the mechanism's grammar.
  public static let malformed = Self(rawValue: "malformed")
  /// The message is longer than any honest one.
  public static let tooLarge = Self(rawValue: "tooLarge")
  /// The server's nonce does not continue ours.
  public static let nonceMismatch = Self(rawValue: "nonceMismatch")
  /// Fewer or more iterations than ``SCRAMKeyRequest/iterationRange``.
  public static let iterationsOutOfRange = Self(rawValue: "iterationsOutOfRange")
  /// The server demands an extension (`m=`).
  public static let unsupportedExtension = Self(rawValue: "unsupportedExtension")
  /// Success without the server's signature.
  public static let serverSignatureMissing = Self(rawValue: "serverSignatureMissing")
  /// The server does not know the password, or the token, either.
  public static let serverSignatureMismatch = Self(rawValue: "serverSignatureMismatch")
  /// A challenge where the mechanism has none.
  public static let unexpectedChallenge = Self(rawValue: "unexpectedChallenge")
  /// Success before the client has proved itself.
  public static let unexpectedSuccess = Self(rawValue: "unexpectedSuccess")
  /// The mechanism's own refusal, SCRAM's `e=`: see ``SASLError/serverValue``.
  public static let serverError = Self(rawValue: "serverError")

  // On this side.

  /// Stored keys belong to another salt, iteration count or hash, and there is no password to derive new ones
  /// from.
  public static let keysOutdated = Self(rawValue: "keysOutdated")
  /// The caller used a mechanism out of order.
  public static let misuse = Self(rawValue: "misuse")
  /// OpenSSL or ICU could not do its part.
  public static let libraryFailure = Self(rawValue: "libraryFailure")

  static let protocolViolations: Set<Self> = [
    .malformed, .tooLarge, .nonceMismatch, .iterationsOutOfRange, .unsupportedExtension,
    .serverSignatureMissing,
    .serverSignatureMismatch, .unexpectedChallenge, .unexpectedSuccess,
  ]
}
