import NIOCore
import NIOPosix
import XMPPSASL
import XMPPStanza
import XMPPTransport
import XMPPXML

/// The state of a stream until the negotiation is complete.
struct StreamEstablishment {
  typealias Waiter = CheckedContinuation<Result<XMPPStream.Negotiated, XMPPError>, Never>

  var purpose = StreamNegotiator.Purpose.login
  /// The target that was tried last.
  var target: ServerTarget?
  /// The number of redirections in this login.
  var redirections = 0
  /// The competing connections, one of which becomes the stream's.
  var race: RunningRace?
  /// Called before a resource is bound (``StreamConfiguration/beforeBinding``); nil afterwards.
  var beforeBinding: (@Sendable () async -> Void)?
  /// The caller of ``XMPPStream/connect()``.
  private(set) var waiter: Waiter?
  fileprivate var task: Task<Void, Never>?

  init(beforeBinding: (@Sendable () async -> Void)?) { self.beforeBinding = beforeBinding }

  mutating func begin(_ waiter: Waiter, _ task: Task<Void, Never>) {
    self.waiter = waiter
    self.task = task
  }

  fileprivate mutating func end() {
    waiter = nil
    task = nil
  }
}

// From a domain to a bound resource: targets are tried, the negotiator decides, and the stream acts.

extension XMPPStream {
  /// Connects, negotiates and binds.
  ///
  /// Limited by the configuration's `timeout`; cancelling the task closes the connection.
  /// - Throws: an ``XMPPError`` whose stage tells the progress.
  public func connect() async throws(XMPPError) -> BoundStream {
    guard case .login(let bound) = try await connect(for: .login) else { throw Self.notOnline }
    return bound
  }

  /// Connects up to the features inside TLS, without a login.
  ///
  /// Afterwards ``request(_:timeout:)`` sends requests that are permitted without a login, such as in-band registration
  /// (XEP-0077 §3.1.1). An account without a local part suffices. Limits, cancellation and errors are those of
  /// ``connect()``.
  public func connectBeforeLogin() async throws(XMPPError) -> StreamFeatures {
    guard case .features(let features) = try await connect(for: .features) else { throw Self.notOnline }
    return features
  }

  /// Revokes the token of the configuration's credentials at the server (XEP-0484 §3.6), without binding a resource,
  /// and closes.
  ///
  /// - Throws: the errors of ``connect()``; `authFailed` or `tokenExpired` where the server does not know the token.
  public func invalidateToken() async throws(XMPPError) {
    _ = try await connect(for: .tokenInvalidation)
    await close()
  }

  /// Authenticates with the configuration's credentials in both directions (RFC 6120 §6), without binding a resource,
  /// and closes: running sessions are not affected.
  ///
  /// - Throws: the errors of ``connect()``.
  public func authenticate() async throws(XMPPError) {
    _ = try await connect(for: .authentication)
    await close()
  }

  private func connect(for purpose: StreamNegotiator.Purpose) async throws(XMPPError) -> Negotiated {
    guard case .idle = state else {
      throw XMPPError(.internalError, stage: .connect, .says(.connectsOnce))
    }
    state = .connecting
    establishment.purpose = purpose
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { (waiter: CheckedContinuation<Result<Negotiated, XMPPError>, Never>) in
        deadline = eventLoop.scheduleTask(in: configuration.timeout) {
          self.assumeIsolated { $0.expireConnecting() }
        }
        establishment.begin(waiter, Task { await self.establish() })
      }
    } onCancel: {
      eventLoop.execute {
        self.assumeIsolated { $0.cancelConnecting() }
      }
    }
    return try result.get()
  }

  /// The stage of a login that ends now.
  private var connectingStage: XMPPError.Stage {
    let contender = establishment.race?.contenders.min { $0.key < $1.key }?.value
    if let negotiator = (connection ?? contender)?.negotiator { return negotiator.stage }
    return establishment.target == nil ? .dns : configuration.proxy == nil ? .connect : .proxy
  }

  private func cancelConnecting() {
    guard case .connecting = state else { return }
    reset(XMPPError(.cancelled, stage: connectingStage, .says(.loginCancelled)))
  }

  private func expireConnecting() {
    guard case .connecting = state else { return }
    let stage = connectingStage
    let seconds = (Double(configuration.timeout.nanoseconds) / 1e8).rounded() / 10
    let code = stage == .proxy ? XMPPError.Code.proxyUnavailable : .connectTimeout
    reset(XMPPError(code, stage: stage, .says(.noLogin, seconds)))
  }

  private func establish() async {
    do {
      var targets = try await configuration.targets()
      var elsewhere = configuration.elsewhere.count
      while case .connecting = state {
        guard !targets.isEmpty else {
          return finish(
            XMPPError(.unknownDomain, stage: .dns, .says(.noServer, configuration.account.domain)))
        }
        guard case .failure(let error) = await race(targets, elsewhere: elsewhere) else { return }
        guard case .connecting = state else { return }
        guard let other = error.otherHost else { return finish(error) }
        guard establishment.redirections < Self.maximumRedirections else {
          return finish(Self.redirectedTooOften)
        }
        establishment.redirections += 1
        targets = [other.target(establishment.target?.tls ?? .startTLS)]
        elsewhere = 1
        hangUp()
        establishment.race = nil
      }
    } catch {
      finish(XMPPError(transportError: error))
    }
  }

  /// Runs blocking work or long computations outside the event loop.
  static func onThread<Value: Sendable, Failure: Error>(
    _ work: @escaping @Sendable () throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let result: Result<Value, Failure> = await withCheckedContinuation { waiter in
      NIOThreadPool.singleton.submit { _ in waiter.resume(returning: Result(catching: work)) }
    }
    return try result.get()
  }

  func negotiation(with target: ServerTarget) -> StreamNegotiator.Configuration {
    var negotiation = StreamNegotiator.Configuration(
      jid: configuration.account, resource: configuration.resource, credentials: configuration.credentials,
      tls: target.tls, language: configuration.language, pipelining: configuration.pipelining,
      policy: configuration.policy)
    negotiation.purpose = establishment.purpose
    // The offer of one server says nothing about another one.
    if let known = configuration.pipelinedTarget,
      (known.host, known.port, known.tls) != (target.host, target.port, target.tls)
    {
      negotiation.pipelining.offer = nil
    }
    if establishment.purpose == .features || establishment.redirections > 0 {
      negotiation.pipelining.offer = nil
    }
    negotiation.bindsInline = establishment.beforeBinding == nil
    negotiation.managesStream = configuration.managesStream
    negotiation.enablesCarbons = configuration.enablesCarbons
    negotiation.resuming = configuration.resuming
    negotiation.userAgent = configuration.userAgent
    negotiation.requestsToken = configuration.requestsToken
    negotiation.fallsBackFromToken = configuration.fallsBackFromToken
    return negotiation
  }

  /// Returns the result to the caller of ``connect()``.
  func endEstablishment(_ result: Result<Negotiated, XMPPError>) {
    let ended = establishment
    establishment.end()
    if case .failure = result { ended.task?.cancel() }
    ended.waiter?.resume(returning: result)
  }

  /// Called at once, not when ``establish()`` continues, because elements after the bind result belong to the bound
  /// stream.
  private func becomeOnline(_ bound: BoundStream) {
    guard case .connecting = state else { return }
    state = .online(bound)
    if !bound.features.element.elements.isEmpty { features = bound.features }
    deadline?.cancel()
    deadline = nil
    connection?.negotiator = nil
    report(.step(.loginOK(bound)))
    endEstablishment(.success(.login(bound)))
  }

  static let maximumRedirections = 5

  private static let redirectedTooOften = XMPPError(
    .protocolError, stage: .stream,
    .says(.redirectedTooOften, maximumRedirections),
    condition: StreamError.Condition.seeOtherHost.rawValue)

  private func becomeReady(_ features: StreamFeatures) {
    guard case .connecting = state else { return }
    state = .beforeLogin
    deadline?.cancel()
    connection?.negotiator = nil
    endEstablishment(.success(.features(features)))
  }

  // MARK: Actions of the negotiator

  func negotiate(_ input: StreamNegotiator.Input) {
    guard let actions = connection?.negotiator?.handle(input) else { return }
    for action in actions { perform(action) }
  }

  private func perform(_ action: StreamNegotiator.Action) {
    guard let connection, case .running = connection.negotiation else { return }
    switch action {
    case .write(let flight):
      if connection.negotiator?.level == .authenticated, let beforeBinding = establishment.beforeBinding {
        return hold(flight, until: beforeBinding)
      }
      write(flight)
    case .startTLS: startTLS()
    case .restartParser: self.connection?.restart()
    case .derive(let request): derive(request)
    case .step(let step): report(.step(step))
    case .bound(let login): complete(login)
    case .ready(let features):
      becomeReady(features)
      endNegotiation(.success(.features(features)))
    case .fail(let error): endNegotiation(.failure(error))
    }
  }

  private func complete(_ login: StreamNegotiator.Login) {
    guard let jid = login.jid, let connection, let negotiator = connection.negotiator else { return }
    var bound = BoundStream(
      jid: jid, target: connection.target, tls: connection.tls, mechanism: login.mechanism,
      features: login.features ?? StreamFeatures(XMLElement("features", namespace: Namespaces.streams)),
      roundTrips: negotiator.roundTrips)
    bound.fastToken = login.fastToken
    bound.isTokenRefused = login.isTokenRefused
    bound.scramKeys = login.scramKeys
    bound.usesSASL2 = login.usesSASL2
    do {
      let acknowledged = try continueSession(login, for: &bound)
      becomeOnline(bound)
      if !acknowledged.isEmpty { report(.acknowledged(acknowledged)) }
      beginManaging(bound)
      watchSilence()
      endNegotiation(.success(.login(bound)))
    } catch {
      management = configuration.resuming
      refuse(error)
    }
  }

  private func hold(
    _ flight: [StreamNegotiator.Output], until beforeBinding: @escaping @Sendable () async -> Void
  ) {
    establishment.beforeBinding = nil
    Task {
      await beforeBinding()
      if case .running = connection?.negotiation { write(flight) }
    }
  }

  func endNegotiation(_ result: Result<Negotiated, XMPPError>) {
    guard case .running = connection?.negotiation else { return }
    connection?.negotiation = .ended(result)
    if !isInRace { endRace(result) }
  }

  private func startTLS() {
    connection?.restart()
    guard let connection else { return }
    do {
      let handler = try TLSHandler(
        connection.tlsContext,
        resuming: establishment.race?.acting == 0 && establishment.redirections == 0
          ? configuration.tlsSession : nil)
      try connection.channel.pipeline.syncOperations.addHandler(handler, position: .first)
    } catch let error as TransportError {
      endNegotiation(.failure(XMPPError(transportError: error)))
    } catch {
      endNegotiation(.failure(XMPPError(.internalError, stage: .tls, "\(error)")))
    }
  }

  /// PBKDF2 takes milliseconds to seconds.
  private func derive(_ request: SCRAMKeyRequest) {
    Task {
      let result: Result<SCRAMKeys, SASLError>
      do throws(SASLError) {
        result = .success(try await Self.onThread { () throws(SASLError) in try request.derive() })
      } catch {
        result = .failure(error)
      }
      negotiate(.derived(result))
    }
  }
}
