import Testing
import XMPPSASL
import XMPPStanza
import XMPPTransport
import XMPPXML

@testable import XMPP

/// XEP-0388 with XEP-0386 and XEP-0484. The password is "secret"; PLAIN carries it as AGFsaWNlAHNlY3JldA==.
@Suite("Authentication by SASL2")
struct SASL2Tests {
  typealias C = Conversation

  private static let success = """
    <success xmlns='urn:xmpp:sasl:2'><authorization-identifier>%JID%</authorization-identifier>%MORE%</success>
    """
  private static let failure = """
    <failure xmlns='urn:xmpp:sasl:2'><%CONDITION% xmlns='urn:ietf:params:xml:ns:xmpp-sasl'/><text>no</text></failure>
    """

  static func success(_ jid: String, _ more: String = "<bound xmlns='urn:xmpp:bind:0'/>") -> String {
    success.replacing("%JID%", with: jid).replacing("%MORE%", with: more)
  }

  static func failure(_ condition: String) -> String { failure.replacing("%CONDITION%", with: condition) }

  static func features(
    _ mechanisms: [String] = ["PLAIN"], fast: [String] = [], bind: [String]? = [], old: [String] = []
  ) -> String {
    func list(_ names: [String]) -> String { names.map { "<mechanism>\($0)</mechanism>" }.joined() }
    let inline = bind.map { features in
      "<bind xmlns='urn:xmpp:bind:0'><inline>" + features.map { "<feature var='\($0)'/>" }.joined()
        + "</inline></bind>"
    }
    let tokens = fast.isEmpty ? "" : "<fast xmlns='urn:xmpp:fast:0'>\(list(fast))</fast>"
    return "<stream:features><mechanisms xmlns='urn:ietf:params:xml:ns:xmpp-sasl'>\(list(old))</mechanisms>"
      + "<authentication xmlns='urn:xmpp:sasl:2'>\(list(mechanisms))<inline>\(inline ?? "")\(tokens)</inline>"
      + "</authentication></stream:features>"
  }

  /// As far as the header inside TLS.
  private func encrypted(
    pipelining: Pipelining = .stepByStep, resource: String? = nil,
    _ change: (inout StreamNegotiator.Configuration) -> Void = { _ in }
  ) throws -> Conversation {
    var talk = try Conversation(tls: .direct, resource: resource, pipelining: pipelining) {
      $0.userAgent = UserAgent(id: "d4565fa7-4d72-4749-b3d3-740edbf87770", software: "imctl", device: "desk")
      change(&$0)
    }
    talk.connect()
    talk.encrypt()
    return talk
  }

  private func lastElement(_ talk: Conversation) throws -> XMLElement {
    let text = (talk.log.last ?? "").replacing("<stream from>", with: "")
    let events = try XMLStreamParser().parse(Array("<r xmlns='jabber:client'>\(text)</r>".utf8))
    guard case .element(let element)? = events.dropFirst().first else { throw Missing() }
    return element
  }
  private struct Missing: Error {}

  @Test(
    "One authentication request names the account and the program, and asks for a resource and its features.")
  func request() throws {
    var talk = try encrypted { $0.enablesCarbons = true }
    try talk.server(
      C.header,
      Self.features(
        ["PLAIN"], bind: ["urn:xmpp:carbons:2", "urn:xmpp:csi:0", "urn:xmpp:sm:3", "urn:xmpp:unknown"],
        old: ["PLAIN"]))
    #expect(
      talk.log.last == """
        <authenticate xmlns='urn:xmpp:sasl:2' mechanism='PLAIN'>\
        <initial-response>AGFsaWNlAHNlY3JldA==</initial-response>\
        <user-agent id='d4565fa7-4d72-4749-b3d3-740edbf87770'><software>imctl</software><device>desk</device>\
        </user-agent><bind xmlns='urn:xmpp:bind:0'><tag>imctl</tag><enable xmlns='urn:xmpp:carbons:2'/>\
        <active xmlns='urn:xmpp:csi:0'/><enable xmlns='urn:xmpp:sm:3' resume='true'/></bind></authenticate>
        """)
    try talk.server(Self.success("alice@example.org/imctl.x"))
    #expect(talk.boundJID?.description == "alice@example.org/imctl.x")
    #expect(talk.failure == nil)
    // TCP, TLS 1.3, header, authenticate.
    #expect(talk.negotiator.roundTrips == 4)
  }

  @Test("A SASL2 request enables message carbons only if the program wants them.")
  func carbons() throws {
    var talk = try encrypted()
    try talk.server(C.header, Self.features(["PLAIN"], bind: ["urn:xmpp:carbons:2", "urn:xmpp:sm:3"]))
    #expect(talk.log.last?.contains("<authenticate") == true)
    #expect(talk.log.last?.contains("urn:xmpp:carbons:2") == false)
  }

  @Test(
    "A SASL2 request follows the last known offer and goes with the stream header, unless it contains the password."
  )
  func pipelined() throws {
    let offer = AuthenticationOffer(
      mechanisms: [], sasl2: .init(mechanisms: [.scramSHA256, .plain], bindFeatures: []))
    var talk = try encrypted(pipelining: Pipelining(offer: offer))
    #expect(talk.log.last?.hasPrefix("<stream from><authenticate ") == true)
    try talk.server(C.header, Self.features(["SCRAM-SHA-256", "PLAIN"]))
    #expect(talk.log.suffix(2) == ["linkOK", "logining SCRAM-SHA-256"])
    #expect(talk.failure == nil)
    var plain = offer
    plain.sasl2?.mechanisms = [.plain]
    #expect(try encrypted(pipelining: Pipelining(offer: plain)).log.last == "<stream from>")
  }

  @Test("A password is not sent by SASL2 to a server that offers SCRAM by SASL only.")
  func scramElsewhere() throws {
    var talk = try encrypted()
    try talk.server(C.header, Self.features(["PLAIN"], old: ["SCRAM-SHA-256", "PLAIN"]))
    #expect(talk.log.last?.contains("mechanism='SCRAM-SHA-256'") == true)
    #expect(talk.log.last?.hasPrefix("<auth ") == true)
    var unknown = try encrypted()
    try unknown.server(C.header, Self.features(["PLAIN"], old: ["SCRAM-SHA3-512", "PLAIN"]))
    #expect(unknown.failure?.code == .mechanismUnavailable)
    #expect(!unknown.log.joined().contains("AGFsaWNl"))
  }

  @Test("An empty SASL2 offer leaves the SASL offer in effect.")
  func emptyOffer() throws {
    var talk = try encrypted()
    try talk.server(C.header, Self.features([], old: ["SCRAM-SHA-256"]))
    #expect(talk.log.last?.hasPrefix("<auth ") == true)
  }

  @Test("A bound resource that the client did not request is refused.")
  func unaskedBinding() throws {
    var talk = try encrypted(resource: "phone")
    try talk.server(C.header, Self.features())
    try talk.server(Self.success("alice@example.org/x"))
    #expect(talk.failure?.code == .protocolError)
    #expect(talk.boundJID == nil)
  }

  @Test("A success before the SCRAM proof is refused, and nothing is bound.")
  func earlySuccess() throws {
    var talk = try encrypted()
    try talk.server(C.header, Self.features(["SCRAM-SHA-256"]))
    try talk.server(Self.success("alice@example.org/x"))
    #expect(talk.failure?.code == .protocolError)
    #expect(talk.boundJID == nil)
  }

  @Test(
    "A bind result with another account's JID, a bare JID or no JID at all is refused.",
    arguments: ["mallory@example.org/x", "alice@example.net/x", "alice@example.org", "", "@"])
  func foreignJID(_ jid: String) throws {
    var talk = try encrypted()
    try talk.server(C.header, Self.features())
    try talk.server(Self.success(jid))
    #expect(talk.failure?.code == .protocolError)
    #expect(talk.boundJID == nil)
  }

  @Test("A login that the server takes for another account fails with an error that names both accounts.")
  func otherName() throws {
    var talk = try encrypted { $0.credentials.authcid = "mallory" }
    try talk.server(C.header, Self.features())
    try talk.server(Self.success("mallory@example.org/x"))
    #expect(talk.failure?.code == .authFailed && talk.failure?.stage == .authenticate)
    #expect(talk.failure?.message == "the server logged in mallory@example.org, not alice@example.org")
    #expect(talk.boundJID == nil)
  }

  @Test("A requested resource is bound by an IQ on the same stream, after SASL2 has succeeded.")
  func resource() throws {
    for pipelining in [Pipelining.stepByStep, .ofUnknownServer] {
      var talk = try encrypted(pipelining: pipelining, resource: "phone")
      try talk.server(C.header, Self.features())
      #expect(talk.log.last?.contains("<bind") == false)
      try talk.server(Self.success("alice@example.org", ""), C.bindFeatures)
      #expect(talk.log.last?.contains("<resource>phone</resource>") == true)
      try talk.server(C.bound("alice@example.org/phone"))
      #expect(talk.boundJID?.resource == "phone")
      #expect(talk.login?.features?.bind == true)
      #expect(talk.log.filter { $0 == "<stream from>" }.count == 1)
    }
  }

  @Test(
    "A server that ignores the inline request for a resource is asked by an IQ, with a name that stays the same."
  )
  func notBound() throws {
    var talk = try encrypted()
    try talk.server(C.header, Self.features())
    try talk.server(Self.success("alice@example.org", ""))
    try talk.server(C.bindFeatures)
    let resource = try #require(
      UserAgent(id: "d4565fa7-4d72-4749-b3d3-740edbf87770", software: "imctl").resource)
    #expect(resource.wholeMatch(of: /imctl\.[A-Za-z0-9_-]{12}/) != nil)
    #expect(resource != UserAgent(id: "d4565fa7-4d72-4749-b3d3-740edbf87771", software: "imctl").resource)
    #expect(talk.log.last?.contains("<resource>\(resource)</resource>") == true)
    try talk.server(C.bound("alice@example.org/x"))
    #expect(talk.boundJID?.resource == "x")
  }

  @Test("A SASL2 failure is mapped to its error code and keeps the server's text.")
  func refused() throws {
    var talk = try encrypted()
    try talk.server(C.header, Self.features())
    try talk.server(Self.failure("account-disabled"))
    #expect(talk.failure?.code == .userBlocked)
    #expect(talk.failure?.text == "no")
  }

  @Test(
    "A further authentication task that the client does not know ends the login with an error that names it.")
  func continued() throws {
    var talk = try encrypted()
    try talk.server(C.header, Self.features())
    try talk.server(
      "<continue xmlns='urn:xmpp:sasl:2'><tasks><task>TOTP-EXAMPLE</task></tasks><text>2FA</text></continue>")
    #expect(talk.failure?.code == .mechanismUnavailable)
    #expect(talk.failure?.message.contains("TOTP-EXAMPLE") == true)
    #expect(talk.failure?.text == "2FA")
  }

  @Test("A SASL success is not accepted in reply to a SASL2 request.")
  func otherProfile() throws {
    var talk = try encrypted()
    try talk.server(C.header, Self.features())
    try talk.server(C.sasl("success"))
    #expect(talk.failure?.code == .protocolError)
  }

  @Test("A login extension is part of the SASL2 request, which is then not pipelined.")
  func loginExtension() throws {
    let offer = AuthenticationOffer(mechanisms: [], sasl2: .init(mechanisms: [.scramSHA256]))
    var talk = try encrypted(pipelining: Pipelining(offer: offer)) {
      $0.credentials.loginExtension = "a<b"
    }
    #expect(talk.log.last == "<stream from>")
    try talk.server(C.header, Self.features())
    #expect(
      try lastElement(talk).first("login-ext", "urn:imctl:login-ext:0")?.text == "a<b")
  }
}
