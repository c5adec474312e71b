import NIOCore
import XMPP
import XMPPStanza
import XMPPTransport
import XMPPXML

/// In-band registration: creates and deletes accounts, and changes passwords (XEP-0077).
///
/// ``form(on:domain:timeout:)`` and ``register(_:on:domain:timeout:)`` require a stream without login
/// (`XMPPStream.connectBeforeLogin()`), the other functions the stream of the account.
public enum Registration {
  /// The stream feature of a server with open registration (§6).
  public static let feature = XMLName("register", "http://jabber.org/features/iq-register")

  /// Requests the registration form (§3.1.1).
  ///
  /// - Throws: `stanzaError` if registration is closed; `rateLimited` if it is closed for a while; `protocolError` if
  ///   the answer is not a form.
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

  /// Submits the form; the account exists when this returns (§3.1.1).
  ///
  /// - Parameter submission: The result of ``RegistrationForm/submission(_:)``.
  /// - Throws: `stanzaError` with the condition `conflict` if the name is taken, or `not-acceptable` if the server
  ///   rejects an answer; otherwise the errors of ``form(on:domain:timeout:)``.
  public static func register(
    _ submission: XMLElement, on stream: some RequestStream, domain: String,
    timeout: TimeAmount = .seconds(30)
  ) async throws(XMPPError) {
    var request = try request(.set, to: domain, [])
    request.payload = [submission]
    _ = try await ask(request, on: stream, timeout: timeout, for: .registration)
  }

  /// Changes the password of the stream's account (§3.3).
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

  /// Deletes the stream's account (§3.2); the server then ends its sessions.
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

  /// The purpose of a request, on which the sentences of its errors depend.
  enum Purpose {
    case registration, passwordChange, deletion

    /// Chooses one of three sentences.
    func choose(
      _ ofRegistration: RequestSentence, _ ofPassword: RequestSentence, _ ofDeletion: RequestSentence
    ) -> ErrorReason {
      switch self {
      case .registration: .says(ofRegistration)
      case .passwordChange: .says(ofPassword)
      case .deletion: .says(ofDeletion)
      }
    }

    /// The sentence for a server that does not offer this.
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

  /// The error for an error answer, in plain words.
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

  /// ejabberd ends the stream when a client requests a feature that it lacks.
  private static func refusal(_ error: XMPPError, of purpose: Purpose) -> XMPPError {
    guard error.code == .protocolError, error.condition == StreamError.Condition.notAuthorized.rawValue else {
      return error
    }
    return XMPPError(
      .stanzaError, stage: .request, purpose.closed,
      condition: error.condition, text: error.text)
  }
}
