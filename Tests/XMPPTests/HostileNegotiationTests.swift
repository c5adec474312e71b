import Testing
import XMPPSASL
import XMPPStanza
import XMPPXML

@testable import XMPP

@Suite("The negotiation of a stream with a hostile server") struct HostileNegotiationTests {
  private typealias C = Conversation

  @Test(
    "Bytes that follow the server's proceed before TLS are refused, whether or not they are complete XML.",
    arguments: [" ", "<", "<stream:features/>", "\u{16}\u{3}\u{1}"])
  func smuggled(_ bytes: String) throws {
    var talk = try Conversation()
    talk.connect()
    try talk.server(C.header, C.startTLSFeatures)
    _ = try? talk.server(C.proceed, bytes)
    #expect(talk.failure?.code == .protocolError)
    #expect(!talk.log.contains("TLS"))
  }

  @Test("A success before the SCRAM proof is refused, and nothing is bound.")
  func earlySuccess() throws {
    var talk = try Conversation.encrypted()
    try talk.server(C.header, C.mechanisms("SCRAM-SHA-256"))
    try talk.server(C.sasl("success"))
    #expect(talk.failure?.code == .protocolError)
    #expect(talk.failure?.stage == .authenticate)
    #expect(!talk.log.contains(canonical(C.bindRequest)))
  }

  @Test(
    "A bind result with another account's JID, a bare JID or no JID at all is refused.",
    arguments: ["mallory@example.org/x", "alice@example.net/x", "alice@example.org", "", "@"])
  func foreignJID(_ jid: String) throws {
    var talk = try Conversation.authenticated()
    try talk.server(C.header, C.bindFeatures)
    try talk.server(C.bound(jid))
    #expect(talk.failure?.code == .protocolError)
    #expect(talk.boundJID == nil)
  }

  @Test(
    "An element that the client does not expect yet ends the login.",
    arguments: [
      "<message/>", "<success xmlns='urn:ietf:params:xml:ns:xmpp-sasl'/>", "<iq type='result' id='bind'/>",
      "<x xmlns='y'/>",
    ])
  func unexpected(_ xml: String) throws {
    var talk = try Conversation()
    talk.connect()
    try talk.server(C.header, xml)
    #expect(talk.failure?.code == .protocolError)
  }

  @Test("A header whose root element is not a stream, or whose version is not XMPP 1.0, is refused.")
  func headers() throws {
    for header in [
      "<html>", "<stream xmlns='jabber:client' version='1.0'>",
      "<stream:stream xmlns:stream='http://etherx.jabber.org/streams'>",
      "<stream:stream xmlns:stream='http://etherx.jabber.org/streams' version='0.9'>",
      "<stream:stream xmlns:stream='http://etherx.jabber.org/streams' version='99999999999999999999.0'>",
    ] {
      var talk = try Conversation()
      talk.connect()
      try talk.server(header)
      #expect(talk.failure?.code == .protocolError, "\(header)")
    }
  }

  @Test(
    "A stream header from another domain, or in another namespace than jabber:client, is refused before the login.",
    arguments: [
      ("from='evil.example' xmlns='jabber:client'", "invalid-from"),
      ("from='alice@example.org' xmlns='jabber:client'", "invalid-from"),
      ("from='example.org/x' xmlns='jabber:client'", "invalid-from"),
      ("from='a b' xmlns='jabber:client'", "invalid-from"),
      ("from='example.org' xmlns='jabber:server'", "invalid-namespace"),
      ("from='example.org' xmlns=''", "invalid-namespace"),
      ("from='EXAMPLE.org' xmlns='jabber:client'", nil),
      ("", nil),
    ] as [(String, String?)])
  func foreignHeader(_ attributes: String, _ condition: String?) throws {
    let header =
      "<?xml version='1.0'?><stream:stream \(attributes) xmlns:stream='http://etherx.jabber.org/streams' version='1.0'>"
    var talk = try Conversation.encrypted()
    let sent = talk.log.count
    try talk.server(header, C.mechanisms("PLAIN"))
    #expect(talk.failure?.code == (condition == nil ? nil : .protocolError))
    let rest = talk.log.dropFirst(sent).joined()
    #expect(rest.contains(canonical(C.plainAuth)) == (condition == nil))
    if let condition { #expect(rest.contains(condition)) }
    // What the server says itself counts more: a server that does not know a domain may speak for another one.
    var other = try Conversation.encrypted()
    try other.server(
      header, "<stream:error><host-unknown xmlns='urn:ietf:params:xml:ns:xmpp-streams'/></stream:error>")
    #expect(other.failure?.code == .unknownDomain)
  }

  @Test(
    "Only the account's own server may answer the bind request.",
    arguments: [
      ("mallory@evil.example/x", false), ("bob@example.org/x", false), ("evil.example", false),
      ("example.org", true), ("alice@example.org", true), ("alice@example.org/x", true),
    ])
  func foreignBinding(_ from: String, _ isOwn: Bool) throws {
    for answer in [
      C.bound("alice@example.org/x"),
      "<iq type='error' id='bind'><error type='cancel'><conflict xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error></iq>",
    ] {
      var talk = try Conversation.authenticated()
      try talk.server(C.header, C.bindFeatures)
      try talk.server(answer.replacing("<iq ", with: "<iq from='\(from)' "))
      #expect((talk.failure?.code == .protocolError) == !isOwn)
    }
  }

  @Test("The ids of the negotiator's requests differ each time and are too long to guess.")
  func ids() throws {
    let ids = try (0..<100).flatMap { _ in
      let configuration = StreamNegotiator.Configuration(
        jid: try JID("alice@example.org"), credentials: SASLCredentials(authcid: "alice"), tls: .direct)
      return [configuration.bindID, configuration.sessionID]
    }
    #expect(Set(ids).count == ids.count && ids.allSatisfy { $0.count >= 12 })
  }

  @Test(
    "The client finds its mechanism at the beginning and at the end of a list of 10,000.",
    arguments: [true, false])
  func longList(isFirst: Bool) throws {
    let unknown = (0..<10_000).map { "<mechanism>X-UNKNOWN-\($0)</mechanism>" }.joined()
    let plain = "<mechanism>PLAIN</mechanism>"
    var talk = try Conversation.encrypted()
    try talk.server(
      C.header,
      "<stream:features><mechanisms xmlns='urn:ietf:params:xml:ns:xmpp-sasl'>"
        + (isFirst ? plain + unknown : unknown + plain) + "</mechanisms></stream:features>")
    #expect(talk.log.last == canonical(C.plainAuth))
  }
}
