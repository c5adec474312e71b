import Testing
import XMPPSASL
import XMPPStanza
import XMPPXML

@testable import XMPP

@Suite("The negotiation of a stream") struct StreamNegotiatorTests {
  private typealias C = Conversation

  @Test("A login over STARTTLS without pipelining sends one request at a time.")
  func stepByStep() throws {
    var talk = try Conversation()
    talk.connect()
    try talk.server(C.header, C.startTLSFeatures)
    try talk.server(C.proceed)
    talk.encrypt()
    try talk.server(C.header, C.mechanisms("PLAIN"))
    try talk.server(C.sasl("success"))
    try talk.server(C.header, C.bindFeatures)
    try talk.server(C.bound("alice@example.org/x"))
    #expect(
      talk.log
        == [
          "<stream>", C.startTLSRequest, "TLS", "restart", "<stream from>", "linkOK", "logining PLAIN",
          C.plainAuth, "restart", "<stream from>", C.bindRequest,
        ].map(canonical))
    #expect(talk.boundJID?.description == "alice@example.org/x")
    // TCP, header, starttls, TLS 1.3, header, auth, header, bind.
    #expect(talk.negotiator.roundTrips == 8)
  }

  @Test("Direct TLS starts with the handshake, and its first stream header names the account.")
  func directTLS() throws {
    var talk = try Conversation(tls: .direct)
    talk.connect()
    talk.encrypt()
    #expect(talk.log == ["TLS", "restart", "<stream from>"])
  }

  @Test(
    "A direct TLS port reached without TLS is recognised by its alert, or suspected when the connection closes."
  )
  func directTLSPort() throws {
    let end = XMPPError(.networkError, stage: .stream, "the connection was closed by the other side")
    var talk = try Conversation()
    talk.connect()
    #expect(talk.negotiator.refusal(of: [0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 0x46])?.code == .tlsFailure)
    #expect(talk.negotiator.refusal(of: Array("<?xml".utf8)) == nil)
    #expect(talk.negotiator.explaining(end).message.contains("for direct TLS"))
    #expect(talk.negotiator.explaining(end).code == .networkError)
    // One that has answered is none.
    try talk.server(C.header)
    #expect(talk.negotiator.explaining(end) == end)
    #expect(talk.negotiator.refusal(of: [0x15, 0x03]) == nil)
    var direct = try Conversation(tls: .direct)
    direct.connect()
    #expect(direct.negotiator.explaining(end) == end)
    #expect(direct.negotiator.refusal(of: [0x15, 0x03]) == nil)
  }

  @Test(
    "The client sends only its stream header and STARTTLS before TLS, whatever the server offers.")
  func noAuthBeforeTLS() throws {
    var talk = try Conversation()
    talk.connect()
    try talk.server(C.header, C.mechanisms("PLAIN", "SCRAM-SHA-1"))
    #expect(talk.log == ["<stream>"])
    #expect(talk.failure?.code == .tlsFailure)
  }

  @Test("A refused STARTTLS ends the login.")
  func startTLSRefused() throws {
    var talk = try Conversation()
    talk.connect()
    try talk.server(C.header, C.startTLSFeatures)
    try talk.server("<failure xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>")
    #expect(talk.failure?.code == .tlsFailure)
  }

  @Test("The client requests the configured resource, and the resource in the bind result counts.")
  func resource() throws {
    var talk = try Conversation(tls: .direct, resource: "phone")
    talk.connect()
    talk.encrypt()
    try talk.server(C.header, C.mechanisms("PLAIN"))
    try talk.server(C.sasl("success"))
    try talk.server(C.header, C.bindFeatures)
    #expect(talk.log.last?.contains("<resource>phone</resource>") == true)
    try talk.server(C.bound("alice@example.org/other"))
    #expect(talk.boundJID?.resource == "other")
  }

  @Test("Compression is never negotiated.")
  func compression() throws {
    var talk = try Conversation.authenticated()
    try talk.server(
      C.header,
      "<stream:features><compression xmlns='http://jabber.org/features/compress'><method>zlib</method></compression><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></stream:features>"
    )
    #expect(talk.log.last == canonical(C.bindRequest))
    #expect(!talk.log.joined().contains("compress"))
  }

  @Test("A server that offers the sessions of RFC 3921 gets a session request.")
  func session() throws {
    var talk = try Conversation.authenticated()
    try talk.server(
      C.header,
      "<stream:features><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/><session xmlns='urn:ietf:params:xml:ns:xmpp-session'/></stream:features>"
    )
    try talk.server(C.bound("alice@example.org/x"))
    #expect(talk.boundJID == nil)
    try talk.server("<iq type='result' id='session'/>")
    #expect(talk.boundJID != nil)
  }

  @Test("A negotiator that has ended takes no further action.")
  func over() throws {
    var talk = try Conversation()
    talk.connect()
    talk.serverCloses()
    #expect(talk.failure?.code == .networkError)
    let count = talk.log.count
    talk.encrypt()
    #expect(talk.log.count == count)
  }
}
