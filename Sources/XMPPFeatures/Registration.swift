import NIOCore
import XMPP
import XMPPStanza
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
    let answer = try await ask(question, on: stream, timeout: timeout, for: "to register")
    guard let form = RegistrationForm(answer) else {
      throw XMPPError(
        .protocolError, stage: .request, "the server sent no registration form that makes sense")
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
    _ = try await ask(request, on: stream, timeout: timeout, for: "to register")
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
    _ = try await ask(request, on: stream, timeout: timeout, for: "to change the password")
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
    _ = try await ask(request, on: stream, timeout: timeout, for: "to delete the account")
  }

  private static func request(
    _ type: IQ.Kind, to domain: String, _ children: [XMLElement]
  ) throws(XMPPError) -> IQ {
    do {
      let query = XMLElement("query", namespace: Namespaces.register, children: children)
      return IQ(type: type, to: try JID(domain: domain), payload: [query])
    } catch {
      throw XMPPError(.invalidParameter, stage: .input, "\(domain): \(error.message)")
    }
  }

  /// - Parameter purpose: what is asked, for a person: "to register".
  private static func ask(
    _ request: IQ, on stream: some RequestStream, timeout: TimeAmount, for purpose: String
  ) async throws(XMPPError) -> IQ {
    let answer: IQ
    do {
      answer = try await stream.request(request, timeout: timeout)
    } catch {
      throw refusal(error, of: purpose)
    }
    if let error = answer.error { throw refusal(error, of: purpose) }
    guard answer.type == .result else {
      throw XMPPError(.protocolError, stage: .request, "the answer to the request \(purpose) is none")
    }
    return answer
  }

  /// What an error answer means here, in words that need no specification.
  static func refusal(_ error: StanzaError, of purpose: String) -> XMPPError {
    let code: XMPPError.Code
    let message: String
    switch (error.condition, error.type) {
    case (.conflict, _): (code, message) = (.stanzaError, "this account exists already: choose another name")
    case (.resourceConstraint, _), (.policyViolation, .wait):
      (code, message) = (.rateLimited, "too many of this address lately")
    case (.notAllowed, _), (.serviceUnavailable, _), (.featureNotImplemented, _), (.forbidden, _):
      (code, message) = (.stanzaError, closed(purpose))
    case (.notAcceptable, _), (.badRequest, _), (.policyViolation, _):
      (code, message) = (.stanzaError, "the server does not accept what was sent \(purpose)")
    default: (code, message) = (.stanzaError, "the server refused \(purpose)")
    }
    return XMPPError(
      code, stage: .request, message, condition: error.condition.rawValue, text: error.text)
  }

  private static func closed(_ purpose: String) -> String {
    "the server allows nobody \(purpose) by itself: ask whoever runs it"
      + (purpose == "to register" ? " for an account" : "")
  }

  /// ejabberd ends the stream of whoever asks for what it does not have.
  private static func refusal(_ error: XMPPError, of purpose: String) -> XMPPError {
    guard error.code == .protocolError, error.condition == StreamError.Condition.notAuthorized.rawValue else {
      return error
    }
    return XMPPError(
      .stanzaError, stage: .request, closed(purpose),
      condition: error.condition, text: error.text)
  }
}
