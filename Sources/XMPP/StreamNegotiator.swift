import XMPPSASL
import XMPPStanza
import XMPPTransport
import XMPPXML

/// Decides how a stream is negotiated, from TCP connect to a bound resource (RFC 6120 §4.3, §5, §6, §7).
///
/// A pure state machine: inputs go in, actions come out, nothing else happens. What the server still owes is a
/// queue of ``Answer``s, so that a flight may carry requests whose answers are several steps away: how far to go
/// ahead of the server is ``Pipelining``, a policy, and the machine is the same for all of them.
public struct StreamNegotiator: Sendable {
  /// What a stream is negotiated for.
  public enum Purpose: Sendable {
    case login
    /// To ask, inside TLS, what may be asked without a login: the features, a registration (XEP-0077 §3.1.1).
    case features
    /// To end the token that is logged in with (XEP-0484 §3.6).
    case tokenInvalidation
    /// To prove the credentials: nothing is bound.
    case authentication
  }

  public struct Configuration: Sendable {
    /// Bare JID of the account.
    public var jid: JID
    public var purpose = Purpose.login
    /// Wanted resource; nil: the server makes one.
    public var resource: String?
    public var credentials: SASLCredentials
    public var tls: TLSMode
    /// `xml:lang` of the stream: the language of the server's texts.
    public var language: String?
    public var pipelining: Pipelining
    public var policy: SASLPolicy
    public var userAgent: UserAgent?
    /// As in ``StreamConfiguration``.
    public var requestsToken = true
    public var fallsBackFromToken = true
    /// The resource may come with the authentication, where the server can.
    public var bindsInline = true
    /// As in ``StreamConfiguration``.
    public var resuming: StreamManagement?
    public var managesStream = true
    public var enablesCarbons = false
    /// The ids of its requests, which nobody can guess.
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
    case bound(Login)
    /// Done what a stream that is for no login is for.
    case ready(StreamFeatures)
    case fail(XMPPError)
  }

  /// What a negotiation has given.
  public struct Login: Sendable, Equatable {
    /// nil until a resource is bound.
    public var jid: JID?
    public var mechanism: SASLMechanismName
    /// After authentication; nil where they have not come yet, behind an inline bind.
    public var features: StreamFeatures?
    /// The server's token for the next login, where it gave one.
    public var fastToken: FASTToken?
    /// The token of this login was refused, and something else was accepted.
    public var isTokenRefused = false
    public var scramKeys: SCRAMKeys?
    /// The login was made with SASL2 (XEP-0388).
    public var usesSASL2 = false
    /// The answer to an inline bind: what was switched on with it (XEP-0386 §3.2).
    public var inline: XMLElement?
    /// The server's answer to the wish to resume a session.
    public var resumption: Resumption?
  }

  /// How a server has answered the wish to go on with a session (XEP-0198 §5).
  public enum Resumption: Sendable, Equatable {
    case resumed(XMLElement)
    case refused(XMLElement)
  }

  /// What the server owes us, in the order it must come.
  enum Answer: Sendable, Equatable {
    case header, features, proceed, authentication, resumption, binding, session
  }

  /// What protects and identifies the stream by now.
  enum Level: Sendable, Equatable {
    case plain, encrypted, authenticated
  }

  let configuration: Configuration
  private(set) var level = Level.plain
  var owed: [Answer] = []
  private var tls: TLSInfo?
  var features: StreamFeatures?
  var authentication: Authentication?
  /// What the authentication has given.
  var login: Login?
  var isTokenRefused = false
  /// The session to go on with, until the server has been asked.
  var resumption: StreamManagement?
  private var isEncrypting = false
  /// What is wrong with the stream's header, unless the server says itself why it cannot go on.
  private var mismatch: StreamHeader.Mismatch?
  private var isOver = false
  /// Round trips so far: TCP, the TLS handshake, and every flight that waits for its answer.
  public private(set) var roundTrips = 0

  public init(_ configuration: Configuration) {
    self.configuration = configuration
    resumption = configuration.resuming
  }

  /// Takes one input; after `bound` or `fail` nothing more comes out.
  public mutating func handle(_ input: Input) -> [Action] {
    guard !isOver else { return [] }
    do {
      return try react(to: input)
    } catch {
      defer { isOver = true }
      return [.fail(blaming(error))]
    }
  }

  /// An error with what going ahead of the server may have had to do with it. What this side found wrong is another
  /// matter: a server that did not prove itself, or bound a foreign JID.
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

  /// What the end of the connection may mean: a server that waits for a TLS handshake ends it when it reads a stream
  /// header.
  func explaining(_ error: XMPPError) -> XMPPError {
    guard error.code == .networkError, isUnanswered else { return error }
    var error = error
    error.reason = .says(.endedBeforeStream)
    return error
  }

  /// The answer to a stream header without TLS is one of TLS: an alert record (RFC 8446 §5.1, §6).
  func refusal(of bytes: some Collection<UInt8>) -> XMPPError? {
    guard isUnanswered, bytes.starts(with: [0x15, 0x03]) else { return nil }
    return XMPPError(.tlsFailure, stage: .tls, .says(.answeredWithTLS))
  }

  /// The header of a stream without TLS was sent, and is not answered.
  private var isUnanswered: Bool { level == .plain && !isEncrypting && owed.first == .header }

  /// Something was sent that the server has not asked for yet, or only asked for later.
  private var isAhead: Bool {
    switch level {
    case .plain: configuration.pipelining.startTLS && owed.contains(.proceed)
    case .encrypted: authentication?.isPipelined == true
    case .authenticated:
      configuration.pipelining.binding && (owed.contains(.binding) || owed.contains(.resumption))
    }
  }

  /// The features of before say nothing any more.
  mutating func becomeAuthenticated() {
    level = .authenticated
    features = nil
  }

  /// Nothing more is to be done.
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

  /// The stage an error at this point belongs to.
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
  /// What mechanisms may know of the connection.
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

  /// Before TLS the header does not tell who is coming (RFC 6120 §4.7.1), and who is nobody yet never does.
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
      // What the server offers is told also where none of it will do.
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

  /// Nothing of a login is sent to a server that speaks for somebody else, or to somebody else than clients.
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
