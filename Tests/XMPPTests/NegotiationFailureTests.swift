import Testing
import XMPPSASL
import XMPPStanza
import XMPPXML

@testable import XMPP

@Suite("Failures in the negotiation of a stream") struct NegotiationFailureTests {
  private typealias C = Conversation

  @Test(
    "Each SASL failure condition is mapped to its error code.",
    arguments: [
      ("not-authorized", XMPPError.Code.authFailed), ("invalid-authzid", .authFailed),
      ("account-disabled", .userBlocked), ("credentials-expired", .tokenExpired),
      ("temporary-auth-failure", .networkError), ("encryption-required", .mechanismUnavailable),
      ("invalid-mechanism", .mechanismUnavailable), ("mechanism-too-weak", .mechanismUnavailable),
      ("malformed-request", .protocolError), ("aborted", .protocolError), ("something-new", .protocolError),
    ])
  func saslFailure(_ condition: String, _ code: XMPPError.Code) throws {
    var talk = try Conversation.encrypted()
    try talk.server(C.header, C.mechanisms("PLAIN"))
    try talk.server(
      "<failure xmlns='urn:ietf:params:xml:ns:xmpp-sasl'><\(condition)/><text xml:lang='en'>no</text></failure>"
    )
    #expect(talk.failure?.code == code)
    #expect(talk.failure?.condition == condition)
    #expect(talk.failure?.text == "no")
    #expect(talk.failure?.stage == .authenticate)
  }

  @Test("A SASL failure without a condition is a protocol error, not a wrong password.")
  func saslFailureWithoutReason() throws {
    var talk = try Conversation.encrypted()
    try talk.server(C.header, C.mechanisms("PLAIN"))
    try talk.server("<failure xmlns='urn:ietf:params:xml:ns:xmpp-sasl'/>")
    #expect(talk.failure?.code == .protocolError)
  }

  @Test(
    "Each error of a SCRAM server is mapped to its error code.",
    arguments: [
      ("invalid-proof", XMPPError.Code.authFailed), ("unknown-user", .authFailed),
      ("other-error", .protocolError), ("server-does-support-channel-binding", .protocolError),
      ("something-new", .protocolError), (nil, .protocolError),
    ] as [(String?, XMPPError.Code)])
  func scramError(_ value: String?, _ code: XMPPError.Code) {
    let error = XMPPError(saslError: SASLError(.serverError, "the server ended SCRAM", serverValue: value))
    #expect(error.code == code)
    #expect(error.condition == value)
  }

  @Test("The error of a mechanism has the key of its sentence if there is one, and otherwise only a text.")
  func mechanismReason() {
    let known = XMPPError(
      saslError: SASLError(.plainRefused, "PLAIN without TLS", .passwordWithoutTLS, "PLAIN"))
    #expect(known.reason.key == "authentication.passwordWithoutTLS")
    #expect(known.reason.arguments.map(\.description) == ["PLAIN"] && known.message == "PLAIN without TLS")
    let unknown = XMPPError(saslError: SASLError(.malformed, "the server's salt is empty"))
    #expect(unknown.reason.key == nil && unknown.message == "the server's salt is empty")
  }

  @Test(
    "Each bind error is mapped to its error code.",
    arguments: [
      ("not-allowed", XMPPError.Code.loginForbidden), ("conflict", .tooManyDevices),
      ("resource-constraint", .tooManyDevices), ("internal-server-error", .networkError),
    ])
  func bindError(_ condition: String, _ code: XMPPError.Code) throws {
    var talk = try Conversation.authenticated()
    try talk.server(C.header, C.bindFeatures)
    try talk.server(
      "<iq type='error' id='bind'><error type='cancel'><\(condition) xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error></iq>"
    )
    #expect(talk.failure?.code == code)
    #expect(talk.failure?.stage == .bind)
  }

  @Test(
    "Each stream error before the login is mapped to its error code.",
    arguments: [
      ("host-unknown", XMPPError.Code.unknownDomain), ("host-gone", .serviceGone),
      ("conflict", .otherDeviceLogin),
      ("policy-violation", .rateLimited), ("resource-constraint", .rateLimited),
      ("system-shutdown", .networkError),
      ("not-well-formed", .protocolError), ("made-up", .protocolError),
    ])
  func streamError(_ condition: String, _ code: XMPPError.Code) throws {
    var talk = try Conversation()
    talk.connect()
    try talk.server(
      C.header, "<stream:error><\(condition) xmlns='urn:ietf:params:xml:ns:xmpp-streams'/></stream:error>")
    #expect(talk.failure?.code == code)
    #expect(talk.failure?.condition == condition)
  }
}
