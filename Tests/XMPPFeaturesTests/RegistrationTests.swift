import TestSupport
import Testing
import XMPP
import XMPPSASL
import XMPPStanza
import XMPPXML

@testable import XMPPFeatures

@Suite("In-band registration", .timeLimit(.minutes(10)))
struct RegistrationTests {
  private static let asked = ScriptedServer.Step.client(
    "<iq type='get' id='{id}'><query xmlns='jabber:iq:register'/></iq>")

  private static func stream(
    _ account: String, password: String = "", port: Int, caFile: String
  ) throws -> XMPPStream {
    XMPPStream(try StreamConfiguration(account, password: password, port: port, caFile: caFile))
  }

  private static func refusal(
    _ condition: StanzaError.Condition, _ type: StanzaError.Kind? = nil
  ) -> XMPPError.Code {
    Registration.refusal(StanzaError(condition, type: type), of: .registration).code
  }

  @Test("A refused registration is reported in words, and one that came too often as a rate limit.")
  func refusals() {
    let taken = Registration.refusal(
      StanzaError(.conflict, text: "The requested username already exists."), of: .registration)
    #expect(taken.code == .stanzaError)
    #expect(taken.message == "this account exists already: choose another name")
    #expect(taken.condition == "conflict")
    #expect(taken.text == "The requested username already exists.")
    for condition in [StanzaError.Condition.notAllowed, .serviceUnavailable, .notAcceptable, .gone] {
      #expect(Self.refusal(condition) == .stanzaError)
    }
    #expect(Self.refusal(.resourceConstraint) == .rateLimited)
    #expect(Self.refusal(.policyViolation, .wait) == .rateLimited)
    #expect(Self.refusal(.policyViolation, .modify) == .stanzaError)
  }

  @Test(
    "A registration without a form fails according to the server's answer.",
    arguments: [
      ("<iq type='result' id='{id}'/>", XMPPError.Code.protocolError),
      ("<iq type='result' id='{id}'><query xmlns='jabber:iq:roster'/></iq>", .protocolError),
      (
        "<iq type='error' id='{id}'><error type='cancel'>"
          + "<service-unavailable xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error></iq>", .stanzaError
      ),
      ("<iq type='error' id='{id}'/>", .stanzaError),
      (
        "<stream:error><not-authorized xmlns='urn:ietf:params:xml:ns:xmpp-streams'/></stream:error>",
        .stanzaError
      ),
      (
        "<iq type='result' id='other'/><iq type='result' id='{id}' from='mallory@im.example'/>", .networkError
      ),
    ])
  func oddAnswers(answer: String, code: XMPPError.Code) async throws {
    let server = try await ScriptedServer(.login(until: .mechanisms) + [Self.asked, .server(answer)])
    let stream = try Self.stream(
      TestServer.domain, port: server.port, caFile: try await TestAuthority.shared.caFile)
    _ = try await stream.connectBeforeLogin()
    let failure = await #expect(throws: XMPPError.self) {
      try await Registration.form(
        on: stream, domain: TestServer.domain, timeout: code == .networkError ? .seconds(1) : .seconds(30))
    }
    #expect(failure?.code == code)
    await stream.close(patience: .milliseconds(1))
    try await server.end()
  }

  @Test(
    "A real server registers an account, changes its password and deletes it.",
    arguments: TestServer.Kind.allCases)
  func realServer(kind: TestServer.Kind) async throws {
    var options = TestServer.Options(kind)
    options.registration = true
    let server = try await TestServer(options)
    let (domain, port, caFile) = (server.options.domain, server.port, server.caFile)
    func login(_ password: String) async throws -> XMPPStream {
      let stream = try Self.stream("dora@\(domain)", password: password, port: port, caFile: caFile)
      _ = try await stream.connect()
      return stream
    }
    func register(_ name: String) async throws {
      let stream = try Self.stream(domain, port: port, caFile: caFile)
      let features = try await stream.connectBeforeLogin()
      #expect(features.offers(Registration.feature.local, Registration.feature.namespace))
      let form = try await Registration.form(on: stream, domain: domain)
      #expect(form.missing(in: [:]).map(\.name).sorted() == ["password", "username"])
      let filled = try form.submission(["username": [name], "password": ["dora-secret"]])
      try await Registration.register(filled, on: stream, domain: domain)
      await stream.close()
    }
    try await register("dora")
    let taken = await #expect(throws: XMPPError.self) { try await register("dora") }
    #expect(taken?.condition == "conflict")

    let stream = try await login("dora-secret")
    try await Registration.changePassword(
      of: stream.configuration.account, to: "dora's new <secret>", on: stream)
    await stream.close()
    let old = await #expect(throws: XMPPError.self) { try await login("dora-secret") }
    #expect(old?.code == .authFailed)

    let again = try await login("dora's new <secret>")
    try await Registration.cancel(on: again)
    await again.close()
    let gone = await #expect(throws: XMPPError.self) { try await login("dora's new <secret>") }
    #expect(gone?.code == .authFailed)
    try await server.end()
  }

  @Test(
    "A real server that does not allow registration is not reported as a network problem.",
    arguments: TestServer.Kind.allCases)
  func switchedOff(kind: TestServer.Kind) async throws {
    let server = try await TestServer.shared(kind)
    let stream = try Self.stream(server.options.domain, port: server.port, caFile: server.caFile)
    let features = try await stream.connectBeforeLogin()
    #expect(!features.offers(Registration.feature.local, Registration.feature.namespace))
    let failure = await #expect(throws: XMPPError.self) {
      try await Registration.form(on: stream, domain: server.options.domain)
    }
    #expect(failure?.code == .stanzaError)
    #expect(
      failure?.message
        == "the server does not allow users to register: ask its administrator for an account")
    await stream.close()
  }
}
