import Testing
import XMPPSASL
import XMPPStanza
import XMPPTransport
import XMPPXML

@testable import XMPP

/// XEP-0198 §5 and §9.2.
@Suite("The resumption of a session")
struct ResumptionTests {
  typealias C = Conversation

  private static let features =
    "<stream:features><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/><sm xmlns='urn:xmpp:sm:3'/></stream:features>"
  private static let resume = XMLElement(
    "resume", namespace: Namespaces.streamManagement, attributes: ["h": "4", "previd": "s1"]
  ).xmlString(inheriting: Namespaces.client)
  private static let resumed = "<resumed xmlns='urn:xmpp:sm:3' h='1' previd='s1'/>"
  private static let failed = "<failed xmlns='urn:xmpp:sm:3'/>"

  private static func management(location: String? = nil) throws -> StreamManagement {
    StreamManagement(
      .init(
        id: "s1", jid: try JID("alice@example.org/desk"), handled: 4, acknowledged: 0, location: location,
        unacknowledged: []))
  }

  /// Inside TLS, the session being known.
  private static func begin(_ pipelining: Pipelining = .stepByStep) throws -> Conversation {
    var talk = try Conversation(tls: .direct, pipelining: pipelining) {
      $0.resuming = try? management()
      $0.userAgent = UserAgent(id: "d4565fa7-4d72-4749-b3d3-740edbf87770", software: "imctl")
    }
    talk.connect()
    talk.encrypt()
    return talk
  }

  /// As far as success, under the profile of RFC 6120.
  private static func authenticated(_ pipelining: Pipelining = .stepByStep) throws -> Conversation {
    var talk = try begin(pipelining)
    try talk.server(C.header, C.mechanisms("PLAIN"))
    try talk.server(C.sasl("success"))
    return talk
  }

  /// The server's offer and answer with SASL2; the offer is first.
  private static let sasl2 = """
    <stream:features><authentication xmlns='urn:xmpp:sasl:2'><mechanism>PLAIN</mechanism>\
    <inline><bind xmlns='urn:xmpp:bind:0'><inline/></bind><sm xmlns='urn:xmpp:sm:3'/></inline>\
    </authentication></stream:features>
    """

  private static func asked() throws -> Conversation {
    var talk = try begin()
    try talk.server(C.header, sasl2)
    return talk
  }

  @Test("The client requests resumption instead of a resource, which takes no additional round trip.")
  func core() throws {
    for pipelining in [Pipelining.stepByStep, .ofUnknownServer] {
      var talk = try Self.authenticated(pipelining)
      try talk.server(C.header, Self.features)
      #expect(talk.log.joined().hasSuffix(Self.resume))
      try talk.server(Self.resumed)
      #expect(talk.boundJID?.description == "alice@example.org/desk")
      #expect(talk.login?.resumption != nil && talk.failure == nil)
      #expect(talk.negotiator.roundTrips == (pipelining.binding ? 5 : 6))
    }
  }

  @Test("The client requests resumption once and binds a resource if the server refuses it.")
  func refused() throws {
    var talk = try Self.authenticated(.ofUnknownServer)
    try talk.server(C.header, Self.features)
    try talk.server(Self.failed)
    #expect(talk.log.last?.contains("<bind") == true)
    try talk.server(C.bound("alice@example.org/new"))
    #expect(talk.boundJID?.description == "alice@example.org/new")
    guard case .refused? = talk.login?.resumption else {
      Issue.record("the refusal is lost")
      return
    }
  }

  @Test("The client does not request resumption from a server without stream management.")
  func unknown() throws {
    var talk = try Self.authenticated()
    try talk.server(C.header, C.bindFeatures)
    #expect(talk.log.last?.contains("<bind") == true)
  }

  @Test("SASL2 carries the resumption request together with a request for a new resource in case it fails.")
  func inline() throws {
    var talk = try Self.asked()
    let request = try #require(talk.log.last)
    #expect(request.contains(Self.resume) && request.contains("<bind xmlns='urn:xmpp:bind:0'>"))
    try talk.server(SASL2Tests.success("alice@example.org", Self.resumed))
    #expect(talk.boundJID?.description == "alice@example.org/desk")
    #expect(talk.negotiator.roundTrips == 4)

    talk = try Self.asked()
    try talk.server(
      SASL2Tests.success(
        "alice@example.org/new",
        "<bound xmlns='urn:xmpp:bind:0'/><failed xmlns='urn:xmpp:sm:3'><error><item-not-found/></error></failed>"
      ))
    #expect(talk.boundJID?.description == "alice@example.org/new")
    guard case .refused? = talk.login?.resumption else {
      Issue.record("the refusal is lost")
      return
    }
  }

  @Test(
    "A resumption of another account's session, another session id or no account at all is refused.",
    arguments: [
      ("mallory@example.org", "<resumed xmlns='urn:xmpp:sm:3' h='1' previd='s1'/>"),
      ("alice@example.org", "<resumed xmlns='urn:xmpp:sm:3' h='1' previd='s2'/>"),
      ("", "<resumed xmlns='urn:xmpp:sm:3' h='1' previd='s1'/>"),
    ])
  func foreign(name: String, answer: String) throws {
    var talk = try Self.asked()
    try talk.server(SASL2Tests.success(name, answer))
    #expect(talk.failure?.code == .protocolError)
    #expect(talk.boundJID == nil)
  }

  @Test("A resumed session that the client did not request is a protocol error.")
  func unasked() throws {
    var talk = try Conversation(tls: .direct)
    talk.connect()
    talk.encrypt()
    try talk.server(C.header, C.mechanisms("PLAIN"))
    try talk.server(C.sasl("success"))
    try talk.server(C.header, Self.features)
    try talk.server(Self.resumed)
    #expect(talk.failure?.code == .protocolError)
  }

  @Test(
    "The client first connects to the host that the server named for resumption, and then to the usual ones.",
    arguments: [
      ("[::1]:5333", "[::1]:5333"), ("other.example:5223", "other.example:5223"),
      ("other.example", "other.example:5222"), ("2001:db8::1", "[2001:db8::1]:5222"),
      ("other.example:x", nil), ("other.example:0", nil), ("a b", nil), ("[::1", nil), ("", nil),
      ("x:65536", nil), ("x/../y:1", nil),
    ] as [(String, String?)])
  func location(text: String, expected: String?) async throws {
    var configuration = StreamConfiguration(
      account: try JID("alice@example.org"), credentials: SASLCredentials(authcid: "alice"))
    configuration.host = "127.0.0.1"
    configuration.resuming = try Self.management(location: text)
    let targets = try await configuration.targets().map(\.description)
    #expect(targets == [expected, "127.0.0.1:5222"].compactMap(\.self))
  }
}
