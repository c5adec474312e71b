import NIOCore
import TestSupport
import Testing
import XMPPSASL
import XMPPStanza
import XMPPTransport
import XMPPXML

@testable import XMPP

@Suite("A stream without a login", .timeLimit(.minutes(6)))
struct BeforeLoginTests {
  typealias C = Conversation

  private static let question = IQ(
    type: .get, id: "r1", payload: [XMLElement("query", namespace: Namespaces.register)])

  @Test(
    "A stream without a login ends its negotiation at the features inside TLS and sends no account name by itself.",
    arguments: [false, true])
  func negotiation(pipelines: Bool) throws {
    let pipelining = Pipelining(startTLS: pipelines)
    var talk = try Conversation("example.org", pipelining: pipelining) { $0.purpose = .features }
    talk.connect()
    try talk.server(C.header, C.startTLSFeatures)
    try talk.server(C.proceed)
    talk.encrypt()
    try talk.server(C.header, C.mechanisms("PLAIN", "SCRAM-SHA-1"))
    let beginning =
      pipelines
      ? ["<stream>" + Conversation.startTLSRequest] : ["<stream>", Conversation.startTLSRequest]
    #expect(
      talk.log == beginning + ["TLS", "restart", "<stream>", "linkOK", "ready PLAIN SCRAM-SHA-1"])
    // Whatever follows is not for the negotiation any more.
    try talk.server(C.sasl("success"))
    #expect(talk.failure == nil)
    #expect(talk.log.count == beginning.count + 5)
  }

  @Test(
    "A stream without a login puts a given account in its header inside TLS, since some servers then offer more."
  )
  func from() throws {
    var talk = try Conversation("alice@example.org", tls: .direct) { $0.purpose = .features }
    talk.connect()
    talk.encrypt()
    try talk.server(C.header, C.mechanisms("PLAIN"))
    #expect(talk.log == ["TLS", "restart", "<stream from>", "linkOK", "ready PLAIN"])
  }

  @Test("A stream without a login is refused before TLS, even if the server offers mechanisms there.")
  func startTLSMissing() throws {
    var talk = try Conversation("example.org") { $0.purpose = .features }
    talk.connect()
    try talk.server(C.header, C.mechanisms("PLAIN"))
    #expect(talk.failure?.code == .tlsFailure)
    #expect(talk.log == ["<stream>"])
  }

  @Test(
    "A stream without a login accepts an answer from the server's domain or without a sender, and from nobody else."
  )
  func request() async throws {
    let answer = "<query xmlns='jabber:iq:register'><username/><password/></query>"
    let server = try await ScriptedServer(
      .login(until: .mechanisms) + [
        .client("<iq type='get' id='r1'><query xmlns='jabber:iq:register'/></iq>"),
        .server(
          "<message/><iq type='get' id='p1'><ping xmlns='urn:xmpp:ping'/></iq>"
            + "<iq type='result' id='r1' from='mallory@other.example'/><iq type='result' id='r1' from='"
            + TestServer.domain + "'>" + answer + "</iq>"),
        .client("<iq type='error' id='p1'/>"),
        .client("<iq type='get' id='r2'/>"),
        .server("<iq type='result' id='r2'/>"),
        .client("</stream:stream>"), .server("</stream:stream>"),
      ])
    let stream = try await stream(to: server)
    #expect(try await stream.connectBeforeLogin().mechanisms == [.scramSHA1])
    let reply = try await stream.request(Self.question)
    #expect(reply.child?.elements.map(\.name.local) == ["username", "password"])
    #expect(try await stream.request(IQ(type: .get, id: "r2")).type == .result)
    await #expect(throws: XMPPStream.notOnline) { try await stream.send([Presence().element]) }
    await #expect(throws: XMPPError.self) { try await stream.connect() }
    await stream.close()
    try await server.finished()
    #expect(!server.received.contains("from="))
    #expect(!server.received.contains("<auth"))
    try await server.end()
  }

  @Test("A pending request on a stream without a login fails when the server ends the stream.")
  func serverEnds() async throws {
    let asked = ScriptedServer.Step.client("<iq type='get' id='r1'/>")
    let tooOften =
      "<stream:error><policy-violation xmlns='urn:ietf:params:xml:ns:xmpp-streams'/></stream:error>"
    let server = try await ScriptedServer(eachConnection: [
      .login(until: .mechanisms) + [asked, .server(tooOften)],
      .login(until: .mechanisms) + [asked, .server("</stream:stream>")],
      .login(until: .mechanisms) + [asked, .close],
      .login(until: .mechanisms) + [asked, .server("<iq type='result' id=r1/>")],
    ])
    for code in [XMPPError.Code.rateLimited, .networkError, .networkError, .protocolError] {
      let stream = try await stream(to: server)
      _ = try await stream.connectBeforeLogin()
      let failure = await #expect(throws: XMPPError.self) { try await stream.request(Self.question) }
      #expect(failure?.code == code)
      #expect(await stream.ending()?.code == code)
    }
    try await server.end()
  }

  @Test("A stream without a login reads the features of a real server.", arguments: TestServer.Kind.allCases)
  func realServer(kind: TestServer.Kind) async throws {
    let server = try await TestServer.shared(kind)
    for tls in [TLSMode.startTLS, .direct] {
      let port = tls == .direct ? server.directTLSPort : server.port
      let stream = XMPPStream(
        try await Login(server.options.domain, port: port, tls: tls).configuration)
      let features = try await stream.connectBeforeLogin()
      #expect(features.mechanisms.contains(.scramSHA1))
      await stream.close()
    }
  }

  private func stream(to server: ScriptedServer) async throws -> XMPPStream {
    XMPPStream(try await Login(TestServer.domain, port: server.port).configuration)
  }
}
