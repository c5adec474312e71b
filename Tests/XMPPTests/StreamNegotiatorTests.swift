import Testing
import XMPPSASL
import XMPPStanza
import XMPPXML

@testable import XMPP

/// The password in these tests is "secret"; PLAIN carries it as AGFsaWNlAHNlY3JldA==.
@Suite struct StreamNegotiatorTests {
  static let plain =
    "<auth mechanism='PLAIN' xmlns='urn:ietf:params:xml:ns:xmpp-sasl'>AGFsaWNlAHNlY3JldA==</auth>"
  static let startTLS = "<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"
  static let bind = "<iq type='set' id='bind'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></iq>"
  typealias C = Conversation

  static func offer(_ mechanisms: SASLMechanismName...) -> AuthenticationOffer {
    AuthenticationOffer(mechanisms: mechanisms)
  }

  /// Element text with its attributes sorted out of the way: only what must hold is compared.
  private func encrypted(_ pipelining: Pipelining = .stepByStep) throws -> Conversation {
    var talk = try Conversation(pipelining: pipelining)
    talk.connect()
    try talk.server(C.header, C.startTLSFeatures)
    try talk.server(C.proceed)
    talk.encrypt()
    return talk
  }

  private func authenticated() throws -> Conversation {
    var talk = try encrypted()
    try talk.server(C.header, C.mechanisms("PLAIN"))
    try talk.server(C.sasl("success"))
    return talk
  }

  @Test("A step by step login over STARTTLS asks one thing at a time.")
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
          "<stream>", Self.startTLS, "TLS", "restart", "<stream from>", "linkOK", "logining PLAIN",
          Self.plain, "restart", "<stream from>", Self.bind,
        ].map(canonical))
    #expect(talk.boundJID?.description == "alice@example.org/x")
    // TCP, header, starttls, TLS 1.3, header, auth, header, bind.
    #expect(talk.negotiator.roundTrips == 8)
  }

  @Test("A server for direct TLS that reads a stream header is known by its alert, or by the end it makes.")
  func directTLSPort() throws {
    let end = XMPPError(.networkError, stage: .stream, "the connection was closed by the other side")
    var talk = try Conversation()
    talk.connect()
    #expect(talk.negotiator.refusal(of: [0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 0x46])?.code == .tlsFailure)
    #expect(talk.negotiator.refusal(of: Array("<?xml".utf8)) == nil)
    #expect(talk.negotiator.explaining(end).message.contains("one for direct TLS"))
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

  @Test("With pipelining the same machine needs three flights less.")
  func pipelining() throws {
    var talk = try Conversation(
      pipelining: Pipelining(startTLS: true, offer: Self.offer(.scramSHA1), binding: true))
    talk.connect()
    #expect(talk.log == ["<stream>" + Self.startTLS])
    try talk.server(C.header, C.startTLSFeatures, C.proceed)
    talk.encrypt()
    #expect(talk.log.last?.hasPrefix("<stream from><auth ") == true)
    #expect(talk.log.last?.contains("SCRAM-SHA-1") == true)
    try talk.server(C.header, C.mechanisms("SCRAM-SHA-1", "PLAIN"))
    #expect(talk.log.suffix(2) == ["linkOK", "logining SCRAM-SHA-1"])
    #expect(talk.failure == nil)
  }

  @Test("PLAIN is never sent ahead of the server's offer.")
  func plainIsNotPipelined() throws {
    var talk = try encrypted(Pipelining(offer: Self.offer(.plain)))
    #expect(talk.log.last == "<stream from>")
    try talk.server(C.header, C.mechanisms("PLAIN"))
    #expect(talk.log.last == canonical(Self.plain))
  }

  @Test(
    "A mechanism that was sent ahead and is not offered gives way to one that is, when the server refuses it."
  )
  func pipelinedMechanismMissing() throws {
    var talk = try encrypted(Pipelining(offer: Self.offer(.scramSHA1)))
    try talk.server(C.header, C.mechanisms("PLAIN"))
    #expect(talk.log.last == "logining SCRAM-SHA-1")
    try talk.server(Self.invalidMechanism)
    #expect(talk.log.suffix(2) == ["logining PLAIN", canonical(Self.plain)])
    try talk.server(C.sasl("success"))
    #expect(talk.failure == nil)
  }

  @Test("A server that goes on with a mechanism that it does not offer is not trusted.")
  func unofferedMechanism() throws {
    var talk = try encrypted(Pipelining(offer: Self.offer(.scramSHA1)))
    try talk.server(C.header, C.mechanisms("PLAIN"))
    try talk.server(C.sasl("challenge", "r=x,s=eA==,i=4096"))
    #expect(talk.failure?.code == .downgrade)
  }

  @Test("Where the true offer is weaker than what is known, nothing more is said.")
  func pinned() throws {
    var talk = try Conversation(tls: .direct, pipelining: Pipelining(offer: Self.offer(.scramSHA256))) {
      $0.policy.pinned = .scramSHA256
    }
    talk.connect()
    talk.encrypt()
    try talk.server(C.header, C.mechanisms("PLAIN", "SCRAM-SHA-1"))
    #expect(talk.failure?.code == .downgrade)
  }

  private static let invalidMechanism =
    "<failure xmlns='urn:ietf:params:xml:ns:xmpp-sasl'><invalid-mechanism/></failure>"

  @Test("Only what may come from going ahead of the server is blamed on it.")
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
    var talk = try encrypted(.ofUnknownServer)
    try talk.server(C.header, C.mechanisms("PLAIN"))
    try talk.server(Self.malformed)
    #expect(talk.failure?.objection == XMPPError.Objection.none)
    talk = try encrypted(Pipelining(offer: Self.offer(.scramSHA1)))
    try talk.server(C.header, C.mechanisms("SCRAM-SHA-1"), Self.malformed)
    #expect(talk.failure?.objection == .stated)
    // A wrong password, and a server that lies about who we are, are no objections.
    talk = try encrypted(Pipelining(offer: Self.offer(.scramSHA1)))
    try talk.server(C.header, C.mechanisms("SCRAM-SHA-1"), Self.notAuthorized)
    #expect(talk.failure?.code == .authFailed)
    #expect(talk.failure?.objection == XMPPError.Objection.none)
    talk = try encrypted(.ofUnknownServer)
    try talk.server(C.header, C.mechanisms("PLAIN"))
    try talk.server(C.sasl("success"))
    try talk.server(C.header, C.bindFeatures, C.bound("mallory@example.org/x"))
    #expect(talk.failure?.objection == XMPPError.Objection.none)
  }

  private static let malformed =
    "<failure xmlns='urn:ietf:params:xml:ns:xmpp-sasl'><malformed-request/></failure>"
  private static let notAuthorized =
    "<failure xmlns='urn:ietf:params:xml:ns:xmpp-sasl'><not-authorized/></failure>"

  @Test("Direct TLS starts with TLS, and the first header already says who comes.")
  func directTLS() throws {
    var talk = try Conversation(tls: .direct)
    talk.connect()
    talk.encrypt()
    #expect(talk.log == ["TLS", "restart", "<stream from>"])
  }

  @Test("Before TLS nothing but header and starttls is written, whatever the server offers.")
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

  @Test(
    "Bytes behind proceed are refused, complete or not.",
    arguments: [" ", "<", "<stream:features/>", "\u{16}\u{3}\u{1}"])
  func smuggled(_ bytes: String) throws {
    var talk = try Conversation()
    talk.connect()
    try talk.server(C.header, C.startTLSFeatures)
    _ = try? talk.server(C.proceed, bytes)
    #expect(talk.failure?.code == .protocolError)
    #expect(!talk.log.contains("TLS"))
  }

  @Test("Success that comes before the proof is refused, and nothing is bound.")
  func earlySuccess() throws {
    var talk = try encrypted()
    try talk.server(C.header, C.mechanisms("SCRAM-SHA-256"))
    try talk.server(C.sasl("success"))
    #expect(talk.failure?.code == .protocolError)
    #expect(talk.failure?.stage == .authenticate)
    #expect(!talk.log.contains(canonical(Self.bind)))
  }

  @Test(
    "A SASL failure becomes the failure it means.",
    arguments: [
      ("not-authorized", XMPPError.Code.authFailed), ("invalid-authzid", .authFailed),
      ("account-disabled", .userBlocked), ("credentials-expired", .tokenExpired),
      ("temporary-auth-failure", .networkError), ("encryption-required", .mechanismUnavailable),
      ("invalid-mechanism", .mechanismUnavailable), ("mechanism-too-weak", .mechanismUnavailable),
      ("malformed-request", .protocolError), ("aborted", .protocolError), ("something-new", .protocolError),
    ])
  func saslFailure(_ condition: String, _ code: XMPPError.Code) throws {
    var talk = try encrypted()
    try talk.server(C.header, C.mechanisms("PLAIN"))
    try talk.server(
      "<failure xmlns='urn:ietf:params:xml:ns:xmpp-sasl'><\(condition)/><text xml:lang='en'>no</text></failure>"
    )
    #expect(talk.failure?.code == code)
    #expect(talk.failure?.condition == condition)
    #expect(talk.failure?.text == "no")
    #expect(talk.failure?.stage == .authenticate)
  }

  @Test("A SASL failure without a reason says nothing about the password.")
  func saslFailureWithoutReason() throws {
    var talk = try encrypted()
    try talk.server(C.header, C.mechanisms("PLAIN"))
    try talk.server("<failure xmlns='urn:ietf:params:xml:ns:xmpp-sasl'/>")
    #expect(talk.failure?.code == .protocolError)
  }

  @Test(
    "What SCRAM's own error means.",
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

  @Test("What a mechanism says has the key of its sentence, or is a text.")
  func mechanismReason() {
    let known = XMPPError(
      saslError: SASLError(.plainRefused, "PLAIN without TLS", .passwordWithoutTLS, "PLAIN"))
    #expect(known.reason.key == "authentication.passwordWithoutTLS")
    #expect(known.reason.arguments.map(\.description) == ["PLAIN"] && known.message == "PLAIN without TLS")
    let unknown = XMPPError(saslError: SASLError(.malformed, "the server's salt is empty"))
    #expect(unknown.reason.key == nil && unknown.message == "the server's salt is empty")
  }

  @Test("The resource asked for is in the bind request; the one the server gives counts.")
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

  @Test(
    "Another account's JID, no JID or a bare one is not bound.",
    arguments: ["mallory@example.org/x", "alice@example.net/x", "alice@example.org", "", "@"])
  func foreignJID(_ jid: String) throws {
    var talk = try authenticated()
    try talk.server(C.header, C.bindFeatures)
    try talk.server(C.bound(jid))
    #expect(talk.failure?.code == .protocolError)
    #expect(talk.boundJID == nil)
  }

  @Test(
    "A bind error becomes the failure it means.",
    arguments: [
      ("not-allowed", XMPPError.Code.loginForbidden), ("conflict", .tooManyDevices),
      ("resource-constraint", .tooManyDevices), ("internal-server-error", .networkError),
    ])
  func bindError(_ condition: String, _ code: XMPPError.Code) throws {
    var talk = try authenticated()
    try talk.server(C.header, C.bindFeatures)
    try talk.server(
      "<iq type='error' id='bind'><error type='cancel'><\(condition) xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error></iq>"
    )
    #expect(talk.failure?.code == code)
    #expect(talk.failure?.stage == .bind)
  }

  @Test(
    "A stream error before login becomes the failure it means.",
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

  @Test(
    "What comes where something else is due ends the login.",
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

  @Test("A root that is no stream, and a server of before XMPP 1.0, are refused.")
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
    "A stream of another domain, or for others than clients, is refused before anything of the login is sent.",
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
    var talk = try encrypted()
    let sent = talk.log.count
    try talk.server(header, C.mechanisms("PLAIN"))
    #expect(talk.failure?.code == (condition == nil ? nil : .protocolError))
    let rest = talk.log.dropFirst(sent).joined()
    #expect(rest.contains(canonical(Self.plain)) == (condition == nil))
    if let condition { #expect(rest.contains(condition)) }
    // What the server says itself counts more: a server that does not know a domain may speak for another one.
    var other = try encrypted()
    try other.server(
      header, "<stream:error><host-unknown xmlns='urn:ietf:params:xml:ns:xmpp-streams'/></stream:error>")
    #expect(other.failure?.code == .unknownDomain)
  }

  @Test(
    "Nobody but the own server answers the request to bind.",
    arguments: [
      ("mallory@evil.example/x", false), ("bob@example.org/x", false), ("evil.example", false),
      ("example.org", true), ("alice@example.org", true), ("alice@example.org/x", true),
    ])
  func foreignBinding(_ from: String, _ isOwn: Bool) throws {
    for answer in [
      C.bound("alice@example.org/x"),
      "<iq type='error' id='bind'><error type='cancel'><conflict xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error></iq>",
    ] {
      var talk = try authenticated()
      try talk.server(C.header, C.bindFeatures)
      try talk.server(answer.replacing("<iq ", with: "<iq from='\(from)' "))
      #expect((talk.failure?.code == .protocolError) == !isOwn)
    }
  }

  @Test("The ids of its requests are others each time, and no one can guess them.")
  func ids() throws {
    let ids = try (0..<100).flatMap { _ in
      let configuration = StreamNegotiator.Configuration(
        jid: try JID("alice@example.org"), credentials: SASLCredentials(authcid: "alice"), tls: .direct)
      return [configuration.bindID, configuration.sessionID]
    }
    #expect(Set(ids).count == ids.count && ids.allSatisfy { $0.count >= 12 })
  }

  @Test("Of a long list of mechanisms the last one is found, too.", arguments: [true, false])
  func longList(isFirst: Bool) throws {
    let unknown = (0..<10_000).map { "<mechanism>X-UNKNOWN-\($0)</mechanism>" }.joined()
    let plain = "<mechanism>PLAIN</mechanism>"
    var talk = try encrypted()
    try talk.server(
      C.header,
      "<stream:features><mechanisms xmlns='urn:ietf:params:xml:ns:xmpp-sasl'>"
        + (isFirst ? plain + unknown : unknown + plain) + "</mechanisms></stream:features>")
    #expect(talk.log.last == canonical(Self.plain))
  }

  @Test("Compression is never negotiated.")
  func compression() throws {
    var talk = try authenticated()
    try talk.server(
      C.header,
      "<stream:features><compression xmlns='http://jabber.org/features/compress'><method>zlib</method></compression><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></stream:features>"
    )
    #expect(talk.log.last == canonical(Self.bind))
    #expect(!talk.log.joined().contains("compress"))
  }

  @Test("A server of RFC 3921 gets its session request.")
  func session() throws {
    var talk = try authenticated()
    try talk.server(
      C.header,
      "<stream:features><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/><session xmlns='urn:ietf:params:xml:ns:xmpp-session'/></stream:features>"
    )
    try talk.server(C.bound("alice@example.org/x"))
    #expect(talk.boundJID == nil)
    try talk.server("<iq type='result' id='session'/>")
    #expect(talk.boundJID != nil)
  }

  @Test("After the end nothing more comes out.")
  func over() throws {
    var talk = try Conversation()
    talk.connect()
    talk.serverCloses()
    #expect(talk.failure?.code == .networkError)
    let count = talk.log.count
    talk.encrypt()
    #expect(talk.log.count == count)
  }

  /// The writer decides where attributes and namespaces stand: compare what it makes of the expected text.
  private func canonical(_ xml: String) -> String {
    guard xml.hasPrefix("<"), !xml.hasPrefix("<stream"),
      let events = try? XMLStreamParser().parse(Array("<r xmlns='jabber:client'>\(xml)</r>".utf8)),
      case .element(let element)? = events.dropFirst().first
    else { return xml }
    return element.xmlString(inheriting: Namespaces.client)
  }
}
