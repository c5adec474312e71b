import XMPPTransport

/// The reason why a stream could not be used, or ended.
///
/// `code` is a name of the failure table that all interfaces share; `stage` tells which part of the work failed.
public struct XMPPError: Error, Sendable, Equatable {
  /// A name of the failure table, extensible by later releases.
  public struct Code: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
  }

  /// The part of the work that failed, in the order in which logins pass them.
  public enum Stage: String, Sendable, CaseIterable {
    case input, dns, connect, proxy, tls, stream, authenticate, bind, sync, request
  }

  /// Whether a server may have ended the stream because of pipelining.
  public enum Objection: Int, Sendable {
    case none
    /// The connection ended for an unknown reason.
    case possible
    /// The server reported an error in what it received.
    case stated
  }

  public var code: Code
  public var stage: Stage
  public var objection = Objection.none
  /// Whether a stanza that exceeds ``StreamConfiguration/limits`` has ended the session. It may come from another user,
  /// and the server then resends it in the next session.
  public var isExcess = false
  /// Whether so many stanzas arrived that the server may not have waited for their acknowledgement (XEP-0198). They
  /// will be resent in the next session, which should do without acknowledgements. If the connection broke meanwhile,
  /// it is unknown whether the server has ended it.
  public var isOverrun = false
  /// Whether the failure occurred at a redirection target (`see-other-host`, or the location of a session to resume)
  /// before the account was named, so that the own server may work.
  public var isElsewhere = false
  /// A description for people, without secrets.
  public var reason: ErrorReason
  /// The condition on the wire, such as `not-authorized` or `conflict`.
  public var condition: String?
  /// The server's text.
  public var text: String?
  /// The host to which the server redirects (`see-other-host`, RFC 6120 §4.9.3.19).
  public var otherHost: HostAddress?

  public init(
    _ code: Code, stage: Stage, _ reason: ErrorReason, condition: String? = nil, text: String? = nil
  ) {
    self.code = code
    self.stage = stage
    self.reason = reason
    self.condition = condition
    self.text = text
  }

  /// An error with a text that is not a ``Sentence``.
  public init(
    _ code: Code, stage: Stage, _ message: String, condition: String? = nil, text: String? = nil
  ) {
    self.init(code, stage: stage, ErrorReason(text: message), condition: condition, text: text)
  }

  /// The reason in English.
  public var message: String { reason.description }
}

extension ErrorReason {
  /// A reason with a sentence about a stream.
  package static func says(
    _ sentence: XMPPError.Sentence, _ arguments: any Sendable & CustomStringConvertible...
  ) -> ErrorReason {
    ErrorReason(sentence, of: arguments)
  }
}

extension XMPPError {
  /// The connection exists, but a due answer does not arrive.
  public static let silentServer = XMPPError(
    .networkError, stage: .stream, .says(.silent))
}

extension XMPPError.Code {
  public static let invalidParameter = Self(rawValue: "invalidParameter")
  public static let unknownDomain = Self(rawValue: "unknownDomain")
  public static let serviceGone = Self(rawValue: "serviceGone")
  public static let connectionRefused = Self(rawValue: "connectionRefused")
  public static let mechanismUnavailable = Self(rawValue: "mechanismUnavailable")
  public static let networkError = Self(rawValue: "networkError")
  public static let connectTimeout = Self(rawValue: "connectTimeout")
  public static let proxyUnavailable = Self(rawValue: "proxyUnavailable")
  public static let tlsFailure = Self(rawValue: "tlsFailure")
  public static let protocolError = Self(rawValue: "protocolError")
  public static let downgrade = Self(rawValue: "downgrade")
  public static let authFailed = Self(rawValue: "authFailed")
  public static let tokenIncorrect = Self(rawValue: "tokenIncorrect")
  public static let invalidToken = Self(rawValue: "invalidToken")
  public static let deviceChanged = Self(rawValue: "deviceChanged")
  public static let tokenExpired = Self(rawValue: "tokenExpired")
  public static let kicked = Self(rawValue: "kicked")
  public static let otherDeviceLogin = Self(rawValue: "otherDeviceLogin")
  public static let loginForbidden = Self(rawValue: "loginForbidden")
  public static let userBlocked = Self(rawValue: "userBlocked")
  public static let tooManyDevices = Self(rawValue: "tooManyDevices")
  public static let rateLimited = Self(rawValue: "rateLimited")
  public static let stanzaError = Self(rawValue: "stanzaError")
  public static let notLoggedIn = Self(rawValue: "notLoggedIn")
  public static let cancelled = Self(rawValue: "cancelled")
  public static let internalError = Self(rawValue: "internalError")

  /// Every code that this library uses; a test compares them with the failure table.
  public static let all: [Self] = [
    .invalidParameter, .unknownDomain, .serviceGone, .connectionRefused, .mechanismUnavailable, .networkError,
    .connectTimeout, .proxyUnavailable, .tlsFailure, .protocolError, .downgrade, .authFailed, .tokenIncorrect,
    .invalidToken,
    .deviceChanged, .tokenExpired,
    .kicked,
    .otherDeviceLogin, .loginForbidden, .userBlocked, .tooManyDevices, .rateLimited, .stanzaError,
    .notLoggedIn, .cancelled, .internalError,
  ]
}

extension XMPPError: CustomStringConvertible {
  public var description: String {
    var description = "\(code.rawValue) (\(stage.rawValue)): \(message)"
    if let condition { description += " [\(condition)]" }
    if let text { description += " \"\(text)\"" }
    return description
  }
}
