import XMPPSASL
import XMPPStanza
import XMPPTransport
import XMPPXML

/// Decides how a stream is negotiated, from TCP connect to a bound resource (RFC 6120 §4.3, §5, §6, §7).
///
/// A pure state machine: inputs go in, actions come out. The server's outstanding answers form a queue of ``Answer``s,
/// so that a flight may contain requests whose answers are several steps away. How far requests precede the server's
/// answers is the policy ``Pipelining``; the machine is the same for all policies.
public struct StreamNegotiator: Sendable {
  /// The purpose of a negotiation.
  public enum Purpose: Sendable {
    case login
    /// Requests inside TLS that need no login: features or registration (XEP-0077 §3.1.1).
    case features
    /// Revoking the token of the login (XEP-0484 §3.6).
    case tokenInvalidation
    /// Verifying the credentials, without binding a resource.
    case authentication
  }

  public struct Configuration: Sendable {
    /// Bare JID of the account.
    public var jid: JID
    public var purpose = Purpose.login
    /// The wanted resource; nil lets the server choose.
    public var resource: String?
    public var credentials: SASLCredentials
    public var tls: TLSMode
    /// `xml:lang` of the stream: the language of the server's texts.
    public var language: String?
    public var pipelining: Pipelining
    public var policy: SASLPolicy
    public var userAgent: UserAgent?
    /// See ``StreamConfiguration``.
    public var requestsToken = true
    public var fallsBackFromToken = true
    /// Whether the resource may be bound together with the authentication, where the server supports it.
    public var bindsInline = true
    /// See ``StreamConfiguration``.
    public var resuming: StreamManagement?
    public var managesStream = true
    public var enablesCarbons = false
    /// The IDs of the requests, which no other entity can guess.
    var bindID = IQ.makeID()
    var sessionID = IQ.makeID()

    public init(
      jid: JID, resource: String? = nil, credentials: SASLCredentials, tls: TLSMode, language: String? = nil,
      pipelining: Pipelining = .stepByStep, policy: SASLPolicy = SASLPolicy()
    ) {
      self.jid = jid
      self.resource = resource
      self.credentials = credentials
      self.tls = tls
      self.language = language
      self.pipelining = pipelining
      self.policy = policy
    }
  }

  public enum Input: Sendable {
    /// The TCP connection is established; with direct TLS, nothing is encrypted yet.
    case connected
    case encrypted(TLSInfo)
    case opened(XMLElement)
    /// A first-level element, and the number of bytes after it in the same read.
    case element(XMLElement, bytesBehind: Int)
    case closed
    /// The result of the action `derive`.
    case derived(Result<SCRAMKeys, SASLError>)
  }

  public enum Output: Sendable, Equatable {
    case header(XMLElement)
    case element(XMLElement)
  }

  public enum Action: Sendable {
    /// One flight, written with one system call.
    case write([Output])
    case startTLS
    /// A new XML document follows (RFC 6120 §4.3.3).
    case restartParser
    /// Keys to derive outside the event loop.
    case derive(SCRAMKeyRequest)
    case step(LoginStep)
    case bound(Login)
    /// The stream has served its purpose, which is not a login.
    case ready(StreamFeatures)
    case fail(XMPPError)
  }

  /// The result of a negotiation.
  public struct Login: Sendable, Equatable {
    /// The bound JID; nil until a resource is bound.
    public var jid: JID?
    public var mechanism: SASLMechanismName
    /// The features after authentication; nil where they follow an inline bind.
    public var features: StreamFeatures?
    /// The server's token for the next login, if it issued one.
    public var fastToken: FASTToken?
    /// Whether the token of this login was refused and another credential accepted.
    public var isTokenRefused = false
    public var scramKeys: SCRAMKeys?
    /// Whether the login used SASL2 (XEP-0388).
    public var usesSASL2 = false
    /// The answer to an inline bind, with the features that it has enabled (XEP-0386 §3.2).
    public var inline: XMLElement?
    /// The server's answer to a resumption request.
    public var resumption: Resumption?
  }

  /// The server's answer to a resumption request (XEP-0198 §5).
  public enum Resumption: Sendable, Equatable {
    case resumed(XMLElement)
    case refused(XMLElement)
  }

  /// The outstanding answers of the server, in their required order.
  enum Answer: Sendable, Equatable {
    case header, features, proceed, authentication, resumption, binding, session
  }

  /// The protection and identity of the stream so far.
  enum Level: Sendable, Equatable {
    case plain, encrypted, authenticated
  }

  let configuration: Configuration
  private(set) var level = Level.plain
  var owed: [Answer] = []
  private var tls: TLSInfo?
  var features: StreamFeatures?
  var authentication: Authentication?
  /// The result of the authentication.
  var login: Login?
  var isTokenRefused = false
  /// The session to resume, until the server was asked.
  var resumption: StreamManagement?
  private var isEncrypting = false
  /// The mismatch of the stream's header, unless the server itself explains why it cannot continue.
  private var mismatch: StreamHeader.Mismatch?
  private var isOver = false
  /// The round trips so far: TCP, the TLS handshake, and every flight that waits for its answer.
  public private(set) var roundTrips = 0

  public init(_ configuration: Configuration) {
    self.configuration = configuration
    resumption = configuration.resuming
  }

  /// Handles one input; after `bound` or `fail` there are no further actions.
  public mutating func handle(_ input: Input) -> [Action] {
    guard !isOver else { return [] }
    do {
      return try react(to: input)
    } catch {
      defer { isOver = true }
      return [.fail(blaming(error))]
    }
  }

  /// Adds to an error the part that pipelining may have had in it. Problems found by this side are excluded, such as a
  /// server that did not prove its identity or has bound a foreign JID.
  func blaming(_ error: XMPPError) -> XMPPError {
    guard isAhead else { return error }
    var error = error
    switch error.code {
    case .networkError: error.objection = .possible
    case .protocolError where error.condition != nil: error.objection = .stated
    default: break
    }
    return error
  }

  /// Explains the end of the connection: a server that expects a TLS handshake closes it on a stream header.
  func explaining(_ error: XMPPError) -> XMPPError {
    guard error.code == .networkError, isUnanswered else { return error }
    var error = error
    error.reason = .says(.endedBeforeStream)
    return error
  }

  /// Recognises an alert record (RFC 8446 §5.1, §6) as the answer of a TLS server to a plain stream header.
  func refusal(of bytes: some Collection<UInt8>) -> XMPPError? {
    guard isUnanswered, bytes.starts(with: [0x15, 0x03]) else { return nil }
    return XMPPError(.tlsFailure, stage: .tls, .says(.answeredWithTLS))
  }

  /// Whether the header of a stream without TLS was sent and not answered.
  private var isUnanswered: Bool { level == .plain && !isEncrypting && owed.first == .header }

  /// Whether something was sent before the server has asked for it.
  private var isAhead: Bool {
    switch level {
    case .plain: configuration.pipelining.startTLS && owed.contains(.proceed)
    case .encrypted: authentication?.isPipelined == true
    case .authenticated:
      configuration.pipelining.binding && (owed.contains(.binding) || owed.contains(.resumption))
    }
  }

  /// Drops the earlier features, which are obsolete after authentication.
  mutating func becomeAuthenticated() {
    level = .authenticated
    features = nil
  }

  /// Ends the negotiation with an action.
  mutating func end(with action: Action) -> [Action] {
    isOver = true
    return [action]
  }

  private mutating func react(to input: Input) throws(XMPPError) -> [Action] {
    switch input {
    case .connected: return connected()
    case .encrypted(let info): return try encrypted(info)
    case .opened(let header): return try opened(header)
    case .closed:
      throw XMPPError(.networkError, stage: stage, .says(.closedByServer))
    case .derived(let result): return try derived(result)
    case .element(let element, let bytesBehind): return try received(element, bytesBehind: bytesBehind)
    }
  }

  /// The stage of an error at this point.
  public var stage: XMPPError.Stage {
    switch level {
    case .plain where isEncrypting: .tls
    case .authenticated: .bind
    case .encrypted where authentication != nil && owed.first == .authentication: .authenticate
    case .plain, .encrypted: .stream
    }
  }
}

// MARK: - The connection

extension StreamNegotiator {
  /// The properties of the connection for SASL mechanisms.
  var saslContext: SASLContext {
    var bindings: [ChannelBindingType: [UInt8]] = [:]
    bindings[.tlsExporter] = tls?.channelBindings.exporter
    bindings[.tlsUnique] = tls?.channelBindings.unique
    bindings[.tlsServerEndPoint] = tls?.channelBindings.serverEndPoint
    return SASLContext(isEncrypted: level != .plain, channelBindings: bindings)
  }

  private mutating func connected() -> [Action] {
    roundTrips += 1
    switch configuration.tls {
    case .direct: return [startTLS()]
    case .startTLS:
      var flight = openStream()
      if configuration.pipelining.startTLS { flight.append(requestTLS()) }
      return [write(flight)]
    }
  }

  private mutating func encrypted(_ info: TLSInfo) throws(XMPPError) -> [Action] {
    roundTrips += info.version == "TLSv1.3" || info.isResumed ? 1 : 2
    level = .encrypted
    isEncrypting = false
    tls = info
    features = nil
    var flight = openStream()
    if let offer = configuration.pipelining.offer, let request = pipeline(offer) {
      flight.append(request)
    }
    return [.restartParser, write(flight)]
  }

  private mutating func startTLS() -> Action {
    isEncrypting = true
    return .startTLS
  }

  mutating func write(_ flight: [Output]) -> Action {
    roundTrips += 1
    return .write(flight)
  }

  /// Before TLS the header does not name the account (RFC 6120 §4.7.1); for an anonymous login it never does.
  mutating func openStream() -> [Output] {
    owed += [.header, .features]
    let isTelling = level != .plain && configuration.jid.local != nil
    let header = StreamHeader.element(
      to: configuration.jid.domain, from: isTelling ? configuration.jid.bare.description : nil,
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
    mismatch = StreamHeader.mismatch(of: header, with: configuration.jid)
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
    if let mismatch { return refuse(mismatch) }
    guard let answer = owed.first else { throw unexpected(element) }
    switch (answer, element.name.local, element.name.namespace) {
    case (.features, "features", Namespaces.streams):
      owed.removeFirst()
      return try received(StreamFeatures(element))
    case (.proceed, "proceed", Namespaces.tls):
      owed.removeFirst()
      guard bytesBehind == 0 else {
        throw XMPPError(
          .protocolError, stage: .tls, .says(.dataBeforeTLS))
      }
      return [startTLS()]
    case (.proceed, "failure", Namespaces.tls):
      throw XMPPError(.tlsFailure, stage: .tls, .says(.tlsRefused))
    case (.authentication, let name, authentication?.profile.namespace):
      return try receivedAuthentication(name, element)
    case (.resumption, "resumed", Namespaces.streamManagement): return try resumed(element)
    case (.resumption, "failed", Namespaces.streamManagement):
      owed.removeFirst()
      login?.resumption = .refused(element)
      return [write([requestSession()])]
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
        throw XMPPError(.tlsFailure, stage: .tls, .says(.noSTARTTLS))
      }
      return owed.isEmpty ? [write([requestTLS()])] : []
    case .encrypted:
      let linked = Action.step(.linkOK(tls: tls, offer: features.authentication))
      if configuration.purpose == .features { return [linked] + end(with: .ready(features)) }
      // The server's offer is reported even if no mechanism fits.
      do { return [linked] + (try authenticate(features.authentication)) } catch {
        return [linked] + end(with: .fail(blaming(error)))
      }
    case .authenticated:
      guard features.bind else {
        throw XMPPError(.protocolError, stage: .bind, .says(.noBinding))
      }
      if !features.streamManagement { resumption = nil }
      return owed.isEmpty ? [write([requestSession()])] : []
    }
  }

  /// Refuses a server of another domain or for other entities than clients, before any part of a login is sent.
  private mutating func refuse(_ mismatch: StreamHeader.Mismatch) -> [Action] {
    let failure = end(with: .fail(XMPPError(.protocolError, stage: stage, mismatch.reason)))
    if level == .authenticated { return failure }
    return [write([.element(StreamError(mismatch.condition).element)])] + failure
  }

  func unexpected(_ element: XMLElement) -> XMPPError {
    XMPPError(
      .protocolError, stage: stage,
      .says(.unexpected, element.name.local))
  }
}
