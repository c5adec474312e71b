import Testing
import XMPPSASL
import XMPPStanza
import XMPPTransport
import XMPPXML

@testable import XMPP

/// Plays the server against a ``StreamNegotiator``: XML text in, what the client does as text out.
struct Conversation {
  var negotiator: StreamNegotiator
  private var parser = XMLStreamParser()
  /// What the client did: `<…>` for what it wrote, one entry a flight, `TLS`, `restart`, step names, failures.
  private(set) var log: [String] = []
  private(set) var failure: XMPPError?
  private(set) var login: StreamNegotiator.Login?
  var boundJID: JID? { login?.jid }

  init(
    _ jid: String = "alice@example.org", password: String = "secret", tls: TLSMode = .startTLS,
    resource: String? = nil, pipelining: Pipelining = .stepByStep,
    _ change: (inout StreamNegotiator.Configuration) -> Void = { _ in }
  ) throws {
    let jid = try JID(jid)
    var configuration = StreamNegotiator.Configuration(
      jid: jid, resource: resource,
      credentials: SASLCredentials(authcid: jid.local ?? "", password: Secret(password)), tls: tls,
      pipelining: pipelining)
    configuration.bindID = "bind"
    configuration.sessionID = "session"
    change(&configuration)
    negotiator = StreamNegotiator(configuration)
  }

  static let header =
    "<?xml version='1.0'?><stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' version='1.0' from='example.org' id='1'>"
  static let startTLSFeatures =
    "<stream:features><starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'><required/></starttls></stream:features>"
  static let bindFeatures =
    "<stream:features><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></stream:features>"
  static let proceed = "<proceed xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"

  static func mechanisms(_ names: String...) -> String {
    "<stream:features><mechanisms xmlns='urn:ietf:params:xml:ns:xmpp-sasl'>"
      + names.map { "<mechanism>\($0)</mechanism>" }.joined() + "</mechanisms></stream:features>"
  }

  static func bound(_ jid: String) -> String {
    "<iq type='result' id='bind'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'><jid>\(jid)</jid></bind></iq>"
  }

  static func sasl(_ name: String, _ text: String = "") -> String {
    "<\(name) xmlns='urn:ietf:params:xml:ns:xmpp-sasl'>\(Base64.encode(Array(text.utf8)))</\(name)>"
  }

  static let tls13: TLSInfo = {
    var info = TLSInfo(version: "TLSv1.3", cipher: "TLS_AES_256_GCM_SHA384", peerCertificateSHA256: [])
    info.channelBindings.exporter = Array(repeating: 7, count: 32)
    return info
  }()

  mutating func connect() { apply(.connected) }
  mutating func encrypt(_ info: TLSInfo = Self.tls13) { apply(.encrypted(info)) }
  mutating func serverCloses() { apply(.closed) }

  /// The server sends all of `xml` in one packet.
  mutating func server(_ xml: String...) throws {
    let parser = parser
    try Array(xml.joined().utf8).withUnsafeBytes { bytes in
      try parser.parse(bytes) { event in
        switch event {
        case .opened(var header):
          header[StreamHeader.contentNamespace] = parser.contentNamespace
          apply(.opened(header))
        case .element(let element): apply(.element(element, bytesBehind: parser.bytesAfterLastEvent))
        case .leftOut: break
        case .closed: apply(.closed)
        }
      }
    }
  }

  private mutating func apply(_ input: StreamNegotiator.Input) {
    for action in negotiator.handle(input) {
      switch action {
      case .write(let flight):
        log.append(
          flight.map { output in
            switch output {
            case .header(let header): header["from"] == nil ? "<stream>" : "<stream from>"
            case .element(let element): element.xmlString(inheriting: Namespaces.client)
            }
          }.joined())
      case .startTLS: log.append("TLS")
      case .restartParser:
        log.append("restart")
        parser = XMLStreamParser()
      case .derive(let request): apply(.derived(Result { () throws(SASLError) in try request.derive() }))
      case .step(.linkOK): log.append("linkOK")
      case .step(.logining(let mechanism)): log.append("logining \(mechanism.rawValue)")
      case .step(let step): log.append("\(step)")
      case .ready(let features):
        log.append("ready " + features.mechanisms.map(\.rawValue).joined(separator: " "))
      case .bound(let login): self.login = login
      case .fail(let error): failure = error
      }
    }
  }
}

extension Conversation {
  /// PLAIN with the account `alice` and the password `secret`.
  static let plainAuth =
    "<auth mechanism='PLAIN' xmlns='urn:ietf:params:xml:ns:xmpp-sasl'>AGFsaWNlAHNlY3JldA==</auth>"
  static let startTLSRequest = "<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"
  static let bindRequest = "<iq type='set' id='bind'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></iq>"

  /// A negotiation that has come as far as TLS.
  static func encrypted(_ pipelining: Pipelining = .stepByStep) throws -> Conversation {
    var talk = try Conversation(pipelining: pipelining)
    talk.connect()
    try talk.server(header, startTLSFeatures)
    try talk.server(proceed)
    talk.encrypt()
    return talk
  }

  /// A negotiation that has come as far as the server's success.
  static func authenticated() throws -> Conversation {
    var talk = try encrypted()
    try talk.server(header, mechanisms("PLAIN"))
    try talk.server(sasl("success"))
    return talk
  }
}

/// The expected XML as the writer writes it, with its attributes and namespaces in the writer's order.
func canonical(_ xml: String) -> String {
  guard xml.hasPrefix("<"), !xml.hasPrefix("<stream"),
    let events = try? XMLStreamParser().parse(Array("<r xmlns='jabber:client'>\(xml)</r>".utf8)),
    case .element(let element)? = events.dropFirst().first
  else { return xml }
  return element.xmlString(inheriting: Namespaces.client)
}
