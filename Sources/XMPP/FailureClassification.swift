import XMPPSASL
import XMPPStanza
import XMPPTransport
import XMPPXML

// Maps conditions on the wire to failures. The meaning of a condition depends on the progress of the session.

extension XMPPError {
  /// The progress of a session when a stream error arrives.
  public enum Phase: Sendable {
    case beforeLogin, binding, online
  }

  /// An error for a stream error (RFC 6120 §4.9.3).
  public init(streamError error: StreamError, phase: Phase, stage: Stage) {
    let code: Code
    let otherHost = error.condition == .seeOtherHost ? error.address.flatMap { HostAddress($0) } : nil
    switch (error.condition, phase) {
    case (.conflict, .online), (.policyViolation, .online): code = .kicked
    case (.conflict, _): code = .otherDeviceLogin
    case (.notAuthorized, .online): code = .userBlocked
    case (.policyViolation, _), (.resourceConstraint, _): code = .rateLimited
    case (.hostUnknown, _): code = .unknownDomain
    case (.hostGone, _): code = .serviceGone
    case (.connectionTimeout, _), (.systemShutdown, _), (.remoteConnectionFailed, _),
      (.internalServerError, _),
      (.reset, _), (.undefined, _):
      code = .networkError
    case (.seeOtherHost, _) where otherHost != nil: code = .networkError
    default: code = .protocolError
    }
    // An `undefined-condition` is described by its application condition (RFC 6120 §4.9.4).
    let condition =
      error.condition == .undefined ? error.applicationConditions.first?.name.local : nil
    self.init(
      code, stage: stage, .says(.streamError, error.condition.rawValue),
      condition: condition ?? error.condition.rawValue, text: error.text)
    self.otherHost = otherHost
  }

  /// An error for the `<failure/>` of SASL (RFC 6120 §6.5, XEP-0388 §2.6.2), with its text in the stream's language.
  init(saslFailure element: XMLElement) {
    let conditions = element.elements.filter {
      $0.name.namespace == Namespaces.sasl && $0.name.local != "text"
    }
    let condition = conditions.first?.name.local ?? "undefined"
    let code: Code
    switch condition {
    case "account-disabled": code = .userBlocked
    case "credentials-expired": code = .tokenExpired
    case "temporary-auth-failure": code = .networkError
    case "encryption-required", "invalid-mechanism", "mechanism-too-weak": code = .mechanismUnavailable
    case "not-authorized", "invalid-authzid": code = .authFailed
    // An unknown condition must not count as a wrong password, which would be deleted.
    default: code = .protocolError
    }
    self.init(
      code, stage: .authenticate, .says(.loginRefused, condition), condition: condition,
      text: element.first("text")?.text)
  }

  /// The same failure with the details that the server has given the mechanism, such as a refused token (RFC 7628
  /// §3.2.2).
  func explained(by mechanism: any SASLMechanism) -> XMPPError {
    guard code == .authFailed, mechanism.name == .oauthBearer || mechanism.name == .xOAuth2 else {
      return self
    }
    var explained = self
    explained.code = mechanism.refusal?.status == "expired_token" ? .tokenExpired : .tokenIncorrect
    // Without a text, the status is the server's explanation.
    explained.text = text ?? mechanism.refusal?.status
    return explained
  }

  /// An error for a refused bind request (RFC 6120 §7.6.2, §7.7.2).
  init(bindError error: StanzaError) {
    let code: Code
    switch error.condition {
    case .notAllowed, .forbidden: code = .loginForbidden
    case .conflict, .resourceConstraint: code = .tooManyDevices
    case .internalServerError, .serviceUnavailable, .remoteServerTimeout: code = .networkError
    case .badRequest, .jidMalformed, .notAcceptable: code = .invalidParameter
    default: code = .stanzaError
    }
    self.init(
      code, stage: .bind, .says(.bindRefused, error.condition.rawValue),
      condition: error.condition.rawValue, text: error.text)
  }

  /// An error for an IQ that was answered with an error (RFC 6120 §8.3).
  public init(stanzaError error: StanzaError, to request: String) {
    self.init(
      .stanzaError, stage: .request, .says(.requestRefused, request, error.condition.rawValue),
      condition: error.condition.rawValue, text: error.text)
  }

  /// An error for a problem that this side found in the authentication.
  init(saslError error: SASLError) {
    let code: Code
    switch error.code {
    case .mechanismUnavailable, .plainRefused: code = .mechanismUnavailable
    case .downgrade: code = .downgrade
    case .invalidPassword, .invalidUserName: code = .invalidParameter
    case .invalidToken: code = .invalidToken
    // Keys whose salt the server has replaced are as useless as a wrong password.
    case .keysOutdated: code = .authFailed
    case .serverError where Self.wrongCredentials.contains(error.serverValue ?? ""): code = .authFailed
    case .misuse, .libraryFailure: code = .internalError
    default: code = .protocolError
    }
    self.init(code, stage: .authenticate, ErrorReason(error), condition: error.serverValue)
  }

  /// The values of SCRAM's `e=` that concern the user and the password (RFC 5802 §7).
  private static let wrongCredentials: Set = ["invalid-proof", "unknown-user"]

  /// An error for a connection that could not be made or was lost.
  public init(transportError error: TransportError) {
    switch error.code {
    case .unknownHost: self.init(.unknownDomain, stage: .dns, error.reason)
    case .serviceUnavailable: self.init(.serviceGone, stage: .dns, error.reason)
    case .connectionRefused: self.init(.connectionRefused, stage: .connect, error.reason)
    case .timedOut: self.init(.connectTimeout, stage: .connect, error.reason)
    // The end of the connection alone does not prove a fault in the peer's TLS, so a retry may help.
    case .tlsClosed: self.init(.networkError, stage: .tls, error.reason)
    case .resolverFailed: self.init(.networkError, stage: .dns, error.reason)
    case .cancelled: self.init(.cancelled, stage: .connect, error.reason)
    case .proxyFailed: self.init(.proxyUnavailable, stage: .proxy, error.reason)
    case .certificateRejected, .tlsFailed: self.init(.tlsFailure, stage: .tls, error.reason)
    case .invalidConfiguration: self.init(.invalidParameter, stage: .input, error.reason)
    default: self.init(.networkError, stage: .connect, error.reason)
    }
  }
}

extension ErrorReason {
  /// The reason of a mechanism's error.
  fileprivate init(_ error: SASLError) {
    if let sentence = error.sentence {
      self.init(
        key: "authentication.\(sentence.rawValue)", arguments: error.arguments.map(ErrorReason.init(text:)),
        description: error.message)
    } else {
      self.init(text: error.message)
    }
  }
}
