import Testing
import XMPPSASL
import XMPPStanza
import XMPPXML

@testable import XMPP

@Suite("Pipelining in the negotiation of a stream") struct PipeliningTests {
  private typealias C = Conversation

  private static let invalidMechanism =
    "<failure xmlns='urn:ietf:params:xml:ns:xmpp-sasl'><invalid-mechanism/></failure>"
  private static let malformed =
    "<failure xmlns='urn:ietf:params:xml:ns:xmpp-sasl'><malformed-request/></failure>"
  private static let notAuthorized =
    "<failure xmlns='urn:ietf:params:xml:ns:xmpp-sasl'><not-authorized/></failure>"

  @Test("Pipelining sends STARTTLS and the first message of the mechanism together with the stream header.")
  func pipelining() throws {
    var talk = try Conversation(
      pipelining: Pipelining(
        startTLS: true, offer: AuthenticationOffer(mechanisms: [.scramSHA1]), binding: true))
    talk.connect()
    #expect(talk.log == ["<stream>" + C.startTLSRequest])
    try talk.server(C.header, C.startTLSFeatures, C.proceed)
    talk.encrypt()
    #expect(talk.log.last?.hasPrefix("<stream from><auth ") == true)
    #expect(talk.log.last?.contains("SCRAM-SHA-1") == true)
    try talk.server(C.header, C.mechanisms("SCRAM-SHA-1", "PLAIN"))
    #expect(talk.log.suffix(2) == ["linkOK", "logining SCRAM-SHA-1"])
    #expect(talk.failure == nil)
  }

  @Test("PLAIN is never sent before the server has offered it.")
  func plainIsNotPipelined() throws {
    var talk = try Conversation.encrypted(Pipelining(offer: AuthenticationOffer(mechanisms: [.plain])))
    #expect(talk.log.last == "<stream from>")
    try talk.server(C.header, C.mechanisms("PLAIN"))
    #expect(talk.log.last == canonical(C.plainAuth))
  }

  @Test("A refused pipelined mechanism that the server does not offer is followed by one that it offers.")
  func pipelinedMechanismMissing() throws {
    var talk = try Conversation.encrypted(Pipelining(offer: AuthenticationOffer(mechanisms: [.scramSHA1])))
    try talk.server(C.header, C.mechanisms("PLAIN"))
    #expect(talk.log.last == "logining SCRAM-SHA-1")
    try talk.server(Self.invalidMechanism)
    #expect(talk.log.suffix(2) == ["logining PLAIN", canonical(C.plainAuth)])
    try talk.server(C.sasl("success"))
    #expect(talk.failure == nil)
  }

  @Test("A challenge for a pipelined mechanism that the server does not offer ends the login as a downgrade.")
  func unofferedMechanism() throws {
    var talk = try Conversation.encrypted(Pipelining(offer: AuthenticationOffer(mechanisms: [.scramSHA1])))
    try talk.server(C.header, C.mechanisms("PLAIN"))
    try talk.server(C.sasl("challenge", "r=x,s=eA==,i=4096"))
    #expect(talk.failure?.code == .downgrade)
  }

  @Test("A server that offers only mechanisms weaker than the pinned one gets no further message.")
  func pinned() throws {
    var talk = try Conversation(
      tls: .direct, pipelining: Pipelining(offer: AuthenticationOffer(mechanisms: [.scramSHA256]))
    ) {
      $0.policy.pinned = .scramSHA256
    }
    talk.connect()
    talk.encrypt()
    try talk.server(C.header, C.mechanisms("PLAIN", "SCRAM-SHA-1"))
    #expect(talk.failure?.code == .downgrade)
  }

  @Test("A failure counts against pipelining only if pipelining may have caused it.")
  func objections() throws {
    let error = "<stream:error><not-well-formed xmlns='urn:ietf:params:xml:ns:xmpp-streams'/></stream:error>"
    for (pipelining, objection) in [
      (Pipelining.stepByStep, XMPPError.Objection.none), (.ofUnknownServer, .stated),
    ] {
      var talk = try Conversation(pipelining: pipelining)
      talk.connect()
      try talk.server(C.header, error)
      #expect(talk.failure?.objection == objection)
      talk = try Conversation(pipelining: pipelining)
      talk.connect()
      talk.serverCloses()
      #expect(
        talk.failure?.objection
          == (objection == .stated ? XMPPError.Objection.possible : XMPPError.Objection.none))
    }
    // With TLS nothing is ahead any more.
    var talk = try Conversation.encrypted(.ofUnknownServer)
    try talk.server(C.header, C.mechanisms("PLAIN"))
    try talk.server(Self.malformed)
    #expect(talk.failure?.objection == XMPPError.Objection.none)
    talk = try Conversation.encrypted(Pipelining(offer: AuthenticationOffer(mechanisms: [.scramSHA1])))
    try talk.server(C.header, C.mechanisms("SCRAM-SHA-1"), Self.malformed)
    #expect(talk.failure?.objection == .stated)
    // A wrong password, and a server that lies about who we are, are no objections.
    talk = try Conversation.encrypted(Pipelining(offer: AuthenticationOffer(mechanisms: [.scramSHA1])))
    try talk.server(C.header, C.mechanisms("SCRAM-SHA-1"), Self.notAuthorized)
    #expect(talk.failure?.code == .authFailed)
    #expect(talk.failure?.objection == XMPPError.Objection.none)
    talk = try Conversation.encrypted(.ofUnknownServer)
    try talk.server(C.header, C.mechanisms("PLAIN"))
    try talk.server(C.sasl("success"))
    try talk.server(C.header, C.bindFeatures, C.bound("mallory@example.org/x"))
    #expect(talk.failure?.objection == XMPPError.Objection.none)
  }
}
