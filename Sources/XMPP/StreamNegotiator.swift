import XMPPSASL
import XMPPStanza
import XMPPTransport
import XMPPXML

/// Decides how a stream is negotiated, from TCP connect to a bound resource (RFC 6120 §4.3, §5, §6, §7).
///
/// A pure state machine: inputs go in, actions come out, nothing else happens. What the server still owes is a
/// queue of ``Answer``s, so that a flight may carry requests whose answers are several steps away: how far to go
/// ahead of the server is ``Anticipation``, a policy, and the machine is the same for all of them.
public struct StreamNegotiator: Sendable {
  public struct Configuration: Sendable {
    /// Bare JID of the account.
    public var jid: JID
    /// Wanted resource; nil: the server makes one.
    public var resource: String?
    public var credentials: SASLCredentials
    public var tls: TLSMode
    /// `xml:lang` of the stream: the language of the server's texts.
    public var language: String?
    public var anticipation: Anticipation
    public var policy: SASLPolicy

    public init(
      jid: JID, resource: String? = nil, credentials: SASLCredentials, tls: TLSMode, language: String? = nil,
      anticipation: Anticipation = .stepByStep, policy: SASLPolicy = SASLPolicy()
    ) {
      self.jid = jid
      self.resource = resource
      self.credentials = credentials
      self.tls = tls
      self.language = language
      self.anticipation = anticipation
      self.policy = policy
    }
  }

  public enum Input: Sendable {
    /// The TCP connection is there (and for direct TLS nothing was encrypted yet).
    case connected
    case encrypted(TLSInfo)
    case opened(XMLElement)
    /// A first-level element, and how many bytes the same read held behind it.
    case element(XMLElement, bytesBehind: Int)
    case closed
    /// The answer to the action `derive`.
    case derived(Result<SCRAMKeys, SASLError>)
  }

  public enum Output: Sendable, Equatable {
    case header(XMLElement)
    case element(XMLElement)
  }

  public enum Action: Sendable {
    /// One flight: written with one system call.
    case write([Output])
    case startTLS
    /// What follows is a new XML document (RFC 6120 §4.3.3).
    case restartParser
    /// To be derived away from the event loop.
    case derive(SCRAMKeyRequest)
    case step(LoginStep)
    case bound(jid: JID, mechanism: SASLMechanismName, features: StreamFeatures)
    case fail(XMPPError)
  }

  /// What the server owes us, in the order it must come.
  enum Answer: Sendable, Equatable {
    case header, features, proceed, authentication, binding, session
  }

  /// What protects and identifies the stream by now.
  enum Level: Sendable, Equatable {
    case plain, encrypted, authenticated
  }

  let configuration: Configuration
  private(set) var level = Level.plain
  private(set) var owed: [Answer] = []
  private var tls: TLSInfo?
  private var features: StreamFeatures?
  private var mechanism: (any SASLMechanism)?
  private var isDeriving = false
  private var isEncrypting = false
  private var isOver = false
  private var boundJID: JID?
  /// Round trips so far: TCP, the TLS handshake, and every flight that waits for its answer.
  public private(set) var roundTrips = 0

  static let bindID = "bind"
  static let sessionID = "session"

  public init(_ configuration: Configuration) { self.configuration = configuration }

  /// Takes one input; after `bound` or `fail` nothing more comes out.
  public mutating func handle(_ input: Input) -> [Action] {
    guard !isOver else { return [] }
    do {
      return try react(to: input)
    } catch {
      isOver = true
      return [.fail(error)]
    }
  }

  private mutating func react(to input: Input) throws(XMPPError) -> [Action] {
    switch input {
    case .connected: return connected()
    case .encrypted(let info): return try encrypted(info)
    case .opened(let header): return try opened(header)
    case .closed:
      throw XMPPError(.networkError, stage: stage, "the server closed the stream")
    case .derived(let result): return try derived(result)
    case .element(let element, let bytesBehind): return try received(element, bytesBehind: bytesBehind)
    }
  }

  /// The stage an error at this point belongs to.
  public var stage: XMPPError.Stage {
    switch level {
    case .plain where isEncrypting: .tls
    case .authenticated: .bind
    case .encrypted where mechanism != nil && owed.first == .authentication: .authenticate
    case .plain, .encrypted: .stream
    }
  }
}

// MARK: - The connection

extension StreamNegotiator {
  private mutating func connected() -> [Action] {
    roundTrips += 1
    switch configuration.tls {
    case .direct: return [startTLS()]
    case .startTLS:
      var flight = openStream()
      if configuration.anticipation.startTLS { flight.append(requestTLS()) }
      return [write(flight)]
    }
  }

  private mutating func encrypted(_ info: TLSInfo) throws(XMPPError) -> [Action] {
    roundTrips += info.version == "TLSv1.3" ? 1 : 2
    level = .encrypted
    isEncrypting = false
    tls = info
    features = nil
    var flight = openStream()
    if let learned = configuration.anticipation.mechanism {
      flight.append(try authenticate(offered: [learned]))
    }
    return [.restartParser, write(flight)]
  }

  private mutating func startTLS() -> Action {
    isEncrypting = true
    return .startTLS
  }

  private mutating func write(_ flight: [Output]) -> Action {
    roundTrips += 1
    return .write(flight)
  }

  /// Before TLS the header does not tell who is coming (RFC 6120 §4.7.1).
  private mutating func openStream() -> [Output] {
    owed += [.header, .features]
    let header = StreamHeader.element(
      to: configuration.jid.domain, from: level == .plain ? nil : configuration.jid.bare.description,
      language: configuration.language)
    return [.header(header)]
  }

  private mutating func requestTLS() -> Output {
    owed.append(.proceed)
    return .element(XMLElement("starttls", namespace: Namespaces.tls))
  }

  private mutating func opened(_ header: XMLElement) throws(XMPPError) -> [Action] {
    guard owed.first == .header else { throw unexpected(header) }
    try StreamHeader.check(header, stage: stage)
    owed.removeFirst()
    return []
  }
}

// MARK: - Elements

extension StreamNegotiator {
  private mutating func received(_ element: XMLElement, bytesBehind: Int) throws(XMPPError) -> [Action] {
    if let error = StreamError(element) {
      throw XMPPError(
        streamError: error, phase: level == .authenticated ? .binding : .beforeLogin, stage: stage)
    }
    guard let answer = owed.first else { throw unexpected(element) }
    switch (answer, element.name.local, element.name.namespace) {
    case (.features, "features", Namespaces.streams):
      owed.removeFirst()
      return try received(StreamFeatures(element))
    case (.proceed, "proceed", Namespaces.tls):
      owed.removeFirst()
      guard bytesBehind == 0 else {
        throw XMPPError(
          .protocolError, stage: .tls, "the server sent data between <proceed/> and the TLS handshake")
      }
      return [startTLS()]
    case (.proceed, "failure", Namespaces.tls):
      throw XMPPError(.tlsFailure, stage: .tls, "the server refused to start TLS")
    case (.authentication, let name, Namespaces.sasl):
      return try receivedAuthentication(name, element)
    case (.binding, "iq", Namespaces.client), (.session, "iq", Namespaces.client):
      return try receivedResult(element)
    default: throw unexpected(element)
    }
  }

  private mutating func received(_ features: StreamFeatures) throws(XMPPError) -> [Action] {
    self.features = features
    switch level {
    case .plain:
      guard features.startTLS else {
        throw XMPPError(.tlsFailure, stage: .tls, "the server does not offer STARTTLS")
      }
      return owed.isEmpty ? [write([requestTLS()])] : []
    case .encrypted:
      var actions: [Action] = [.step(.linkOK(tls: tls, mechanisms: features.mechanisms))]
      if let mechanism {
        guard features.mechanisms.contains(mechanism.name) else {
          throw XMPPError(
            .downgrade, stage: .authenticate,
            "the server no longer offers \(mechanism.name.rawValue), which it offered before")
        }
        actions.append(.step(.logining(mechanism.name)))
      } else {
        let auth = try authenticate(offered: features.mechanisms)
        if let mechanism { actions.append(.step(.logining(mechanism.name))) }
        actions.append(write([auth]))
      }
      return actions
    case .authenticated:
      guard features.bind else {
        throw XMPPError(.protocolError, stage: .bind, "the server does not offer resource binding")
      }
      return owed.isEmpty ? [write([requestBinding()])] : []
    }
  }

  private func unexpected(_ element: XMLElement) -> XMPPError {
    XMPPError(
      .protocolError, stage: stage,
      "the server sent <\(element.name.local)/> where it had to send something else")
  }
}

// MARK: - Authentication

extension StreamNegotiator {
  private mutating func authenticate(offered: [SASLMechanismName]) throws(XMPPError) -> Output {
    do {
      var chosen = try SASLMechanismChoice.choose(
        offered: offered, credentials: configuration.credentials,
        context: SASLContext(isEncrypted: level != .plain), policy: configuration.policy)
      let response = try chosen.initialResponse()
      mechanism = chosen
      owed.append(.authentication)
      return .element(
        XMLElement(
          "auth", namespace: Namespaces.sasl, attributes: ["mechanism": chosen.name.rawValue],
          text: response.map(Self.encode)))
    } catch {
      throw XMPPError(saslError: error)
    }
  }

  private mutating func receivedAuthentication(
    _ name: String, _ element: XMLElement
  ) throws(XMPPError) -> [Action] {
    guard var mechanism, !isDeriving else { throw unexpected(element) }
    defer { self.mechanism = mechanism }
    switch name {
    case "challenge":
      return try perform { () throws(SASLError) in
        try mechanism.challenge(try Self.decode(element.text) ?? [])
      }
    case "success":
      do {
        try mechanism.success(try Self.decode(element.text))
      } catch {
        throw XMPPError(saslError: error)
      }
      owed.removeFirst()
      level = .authenticated
      features = nil
      var flight = openStream()
      if configuration.anticipation.binding { flight.append(requestBinding()) }
      return [.restartParser, write(flight)]
    case "failure":
      throw XMPPError(saslFailure: element)
    default: throw unexpected(element)
    }
  }

  private mutating func derived(_ result: Result<SCRAMKeys, SASLError>) throws(XMPPError) -> [Action] {
    guard isDeriving, var mechanism else { return [] }
    isDeriving = false
    defer { self.mechanism = mechanism }
    return try perform { () throws(SASLError) in try mechanism.derived(try result.get()) }
  }

  private mutating func perform(
    _ step: () throws(SASLError) -> SASLStep
  ) throws(XMPPError) -> [Action] {
    do {
      switch try step() {
      case .respond(let bytes):
        let text = bytes.isEmpty ? nil : Base64.encode(bytes)
        return [write([.element(XMLElement("response", namespace: Namespaces.sasl, text: text))])]
      case .derive(let request):
        isDeriving = true
        return [.derive(request)]
      case .complete: return []
      }
    } catch {
      throw XMPPError(saslError: error)
    }
  }

  /// An empty initial response is a single equals sign (RFC 6120 §6.4.2).
  private static func encode(_ bytes: [UInt8]) -> String {
    bytes.isEmpty ? "=" : Base64.encode(bytes)
  }

  private static func decode(_ text: String) throws(SASLError) -> [UInt8]? {
    if text.isEmpty { return nil }
    if text == "=" { return [] }
    guard let bytes = Base64.decode(text) else {
      throw SASLError(.malformed, "the server's SASL data is not base64")
    }
    return bytes
  }
}

// MARK: - Binding

extension StreamNegotiator {
  private mutating func requestBinding() -> Output {
    owed.append(.binding)
    var bind = XMLElement("bind", namespace: Namespaces.bind)
    if let resource = configuration.resource {
      bind.children = [.element(XMLElement("resource", namespace: Namespaces.bind, text: resource))]
    }
    return .element(
      XMLElement(
        "iq", namespace: Namespaces.client, attributes: ["type": "set", "id": Self.bindID], children: [bind]))
  }

  private mutating func receivedResult(_ element: XMLElement) throws(XMPPError) -> [Action] {
    let wanted = owed.first == .binding ? Self.bindID : Self.sessionID
    guard let iq = IQ(element), iq.id == wanted else { throw unexpected(element) }
    if let error = iq.error { throw XMPPError(bindError: error) }
    guard iq.type == .result else { throw unexpected(element) }
    owed.removeFirst()
    if wanted == Self.bindID {
      boundJID = try boundJID(in: element)
      if features?.requiresSession == true { return [requestSession()] }
    }
    guard let boundJID, let features, let mechanism else { throw unexpected(element) }
    isOver = true
    return [.bound(jid: boundJID, mechanism: mechanism.name, features: features)]
  }

  /// The server may choose the resource (RFC 6120 §7.7.1), but not whose it is.
  private func boundJID(in iq: XMLElement) throws(XMPPError) -> JID {
    guard let text = iq.first("bind", Namespaces.bind)?.first("jid")?.text, let jid = try? JID(text),
      !jid.isBare
    else { throw XMPPError(.protocolError, stage: .bind, "the server bound no full JID") }
    guard jid.bare == configuration.jid.bare else {
      throw XMPPError(
        .protocolError, stage: .bind, "the server bound the JID of another account: \(jid.bare)")
    }
    return jid
  }

  /// Servers of RFC 3921 want a session before they route stanzas.
  private mutating func requestSession() -> Action {
    owed.append(.session)
    return write([
      .element(
        XMLElement(
          "iq", namespace: Namespaces.client, attributes: ["type": "set", "id": Self.sessionID],
          children: [XMLElement("session", namespace: Namespaces.session)]))
    ])
  }
}
