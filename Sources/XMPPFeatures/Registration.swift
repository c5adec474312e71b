import NIOCore
import XMPP
import XMPPStanza
import XMPPTransport
import XMPPXML

/// Makes an account, changes its password and deletes it, in band (XEP-0077).
///
/// ``form(on:domain:timeout:)`` and ``register(_:on:domain:timeout:)`` are for a stream that is not logged in
/// (`XMPPStream.connectBeforeLogin()`), the others for the stream of the account.
public enum Registration {
  /// The stream feature of a server that lets accounts be registered (§6).
  public static let feature = XMLName("register", "http://jabber.org/features/iq-register")

  /// Asks what the server wants to know (§3.1.1).
  ///
  /// - Throws: `stanzaError` where no account can be registered, `rateLimited` where none can for a while,
  ///   `protocolError` for what is no form.
  public static func form(
    on stream: some RequestStream, domain: String, timeout: TimeAmount = .seconds(30)
  ) async throws(XMPPError) -> RegistrationForm {
    let question = try request(.get, to: domain, [])
    let answer = try await ask(question, on: stream, timeout: timeout, for: .registration)
    guard let form = RegistrationForm(answer) else {
      throw XMPPError(
        .protocolError, stage: .request, .says(.unusableForm))
    }
    return form
  }

  /// Hands a filled form in: there is an account when this returns (§3.1.1).
  ///
  /// - Parameter submission: what ``RegistrationForm/submission(_:)`` has given.
  /// - Throws: `stanzaError` with the condition `conflict` for a name that is taken, or `not-acceptable` for an
  ///   answer that the server does not like; and as ``form(on:domain:timeout:)``.
  public static func register(
    _ submission: XMLElement, on stream: some RequestStream, domain: String,
    timeout: TimeAmount = .seconds(30)
  ) async throws(XMPPError) {
    var request = try request(.set, to: domain, [])
    request.payload = [submission]
    _ = try await ask(request, on: stream, timeout: timeout, for: .registration)
  }

  /// Changes the password of the account that the stream is logged in to (§3.3).
  public static func changePassword(
    of account: JID, to password: String, on stream: some RequestStream, timeout: TimeAmount = .seconds(30)
  ) async throws(XMPPError) {
    let request = try request(
      .set, to: account.domain,
      [
        XMLElement("username", namespace: Namespaces.register, text: account.local),
        XMLElement("password", namespace: Namespaces.register, text: password),
      ])
    _ = try await ask(request, on: stream, timeout: timeout, for: .passwordChange)
  }

  /// Deletes the account that the stream is logged in to (§3.2); the server ends its sessions then.
  public static func cancel(on stream: some RequestStream, timeout: TimeAmount = .seconds(30))
    async throws(XMPPError)
  {
    var request = IQ(type: .set)
    request.payload = [
      XMLElement(
        "query", namespace: Namespaces.register,
        children: [XMLElement("remove", namespace: Namespaces.register)])
    ]
    _ = try await ask(request, on: stream, timeout: timeout, for: .deletion)
  }

  private static func request(
    _ type: IQ.Kind, to domain: String, _ children: [XMLElement]
  ) throws(XMPPError) -> IQ {
    do {
      let query = XMLElement("query", namespace: Namespaces.register, children: children)
      return IQ(type: type, to: try JID(domain: domain), payload: [query])
    } catch {
      throw XMPPError(.invalidParameter, stage: .input, .says(.wrongDomain, domain, error.message))
    }
  }

  /// What is asked for, which every sentence names.
  enum Purpose {
    case registration, passwordChange, deletion

    /// One of three sentences.
    func choose(
      _ ofRegistration: RequestSentence, _ ofPassword: RequestSentence, _ ofDeletion: RequestSentence
    ) -> ErrorReason {
      switch self {
      case .registration: .says(ofRegistration)
      case .passwordChange: .says(ofPassword)
      case .deletion: .says(ofDeletion)
      }
    }

    /// The server has nobody do this.
    var closed: ErrorReason { choose(.registrationClosed, .passwordClosed, .deletionClosed) }
  }

  private static func ask(
    _ request: IQ, on stream: some RequestStream, timeout: TimeAmount, for purpose: Purpose
  ) async throws(XMPPError) -> IQ {
    let answer: IQ
    do {
      answer = try await stream.request(request, timeout: timeout)
    } catch {
      throw refusal(error, of: purpose)
    }
    if let error = answer.error { throw refusal(error, of: purpose) }
    guard answer.type == .result else {
      throw XMPPError(
        .protocolError, stage: .request,
        purpose.choose(.registrationUnanswered, .passwordUnanswered, .deletionUnanswered))
    }
    return answer
  }

  /// What an error answer means here, in words that need no specification.
  static func refusal(_ error: StanzaError, of purpose: Purpose) -> XMPPError {
    let code: XMPPError.Code
    let reason: ErrorReason
    switch (error.condition, error.type) {
    case (.conflict, _): (code, reason) = (.stanzaError, .says(.accountExists))
    case (.resourceConstraint, _), (.policyViolation, .wait):
      (code, reason) = (.rateLimited, .says(.tooMany))
    case (.notAllowed, _), (.serviceUnavailable, _), (.featureNotImplemented, _), (.forbidden, _):
      (code, reason) = (.stanzaError, purpose.closed)
    case (.notAcceptable, _), (.badRequest, _), (.policyViolation, _):
      (code, reason) = (
        .stanzaError, purpose.choose(.registrationNotAccepted, .passwordNotAccepted, .deletionNotAccepted)
      )
    default:
      (code, reason) = (
        .stanzaError, purpose.choose(.registrationRefused, .passwordRefused, .deletionRefused)
      )
    }
    return XMPPError(
      code, stage: .request, reason, condition: error.condition.rawValue, text: error.text)
  }

  /// ejabberd ends the stream of whoever asks for what it does not have.
  private static func refusal(_ error: XMPPError, of purpose: Purpose) -> XMPPError {
    guard error.code == .protocolError, error.condition == StreamError.Condition.notAuthorized.rawValue else {
      return error
    }
    return XMPPError(
      .stanzaError, stage: .request, purpose.closed,
      condition: error.condition, text: error.text)
  }
}
