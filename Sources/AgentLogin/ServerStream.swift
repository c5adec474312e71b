import AgentProtocol
import AgentStore
import FoundationEssentials
import NIOConcurrencyHelpers
import NIOCore
import XMPP
import XMPPFeatures
import XMPPSASL
import XMPPStanza
import XMPPTransport

/// A short stream to a server, for work that needs no session.
package struct ServerStream: Sendable {
  /// The account, or only a domain for a stream without a login.
  package let account: JID
  package let options: ConnectionOptions
  /// The time limit for connecting and for each request.
  package let timeout: TimeAmount
  package let language: String
  private let onEvent: @Sendable (Event.Body) -> Void
  private let access: ServerAccess

  /// - Parameters:
  ///   - address: a JID or a domain.
  ///   - timeout: the time limit in seconds; 0 for none.
  ///   - language: the language of the server's texts.
  ///   - onEvent: called with the steps, as `state`, and with the wire log without secrets.
  ///
  /// Throws `invalidParameter` for an invalid JID or fingerprint.
  package init(
    to address: String, options: ConnectionOptions, timeout: Double, language: String,
    onEvent: @escaping @Sendable (Event.Body) -> Void = { _ in }
  ) throws(Failure) {
    account = try JID(given: address).bare
    self.options = options
    self.timeout = .bounded(timeout)
    self.language = language
    self.onEvent = onEvent
    access = try ServerAccess(options)
  }

  private func configuration(_ account: JID, _ credentials: SASLCredentials) -> StreamConfiguration {
    var configuration = StreamConfiguration(account: account, credentials: credentials)
    access.apply(to: &configuration)
    configuration.timeout = timeout
    configuration.language = language
    configuration.pipelining = .ofUnknownServer
    configuration.requestsToken = false
    return configuration
  }

  /// - Returns: the stream, and a task that ends when its last step was reported.
  private func stream(
    _ configuration: StreamConfiguration, onMessage: @escaping @Sendable (Message) -> Void = { _ in },
    onStep: @escaping @Sendable (LoginStep) -> Void = { _ in }
  ) -> (stream: XMPPStream, steps: Task<Void, Never>) {
    var configuration = configuration
    configuration.wireLog = { [onEvent] in onEvent(.wire(WireLine(direction: $0.rawValue, xml: $1))) }
    let stream = XMPPStream(configuration)
    let steps = Task { [onEvent] in
      var last = SessionState.offline
      for await event in stream.events {
        if case .message(let message) = event { onMessage(message) }
        guard case .step(let step) = event else { continue }
        onStep(step)
        let change = StateChange(step, previous: last)
        last = change.state
        onEvent(.state(change))
      }
    }
    return (stream, steps)
  }

  /// Runs `body` inside TLS without a login.
  ///
  /// - Parameter names: whether the account name is sent inside TLS.
  package func beforeLogin<Result: Sendable>(
    names: Bool, _ body: (XMPPStream, StreamFeatures) async throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    let account: JID
    do { account = names ? self.account : try JID(domain: self.account.domain) } catch {
      throw Failure(.invalidParameter, stage: .input, detail: FailureDetail(error))
    }
    let stream = stream(configuration(account, SASLCredentials(authcid: ""))).stream
    let features: StreamFeatures
    do throws(XMPPError) { features = try await stream.connectBeforeLogin() } catch { throw Failure(error) }
    return try await closing(stream) { () async throws(Failure) in try await body(stream, features) }
  }

  /// Runs `body` on a stream with the account logged in and without presence.
  ///
  /// - Parameters:
  ///   - server: the known properties of the server; a weaker mechanism is refused.
  ///   - onMessage: called with messages that arrive meanwhile.
  package func loggedIn<Result: Sendable>(
    with credentials: SASLCredentials, _ server: KnownServer?,
    onMessage: @escaping @Sendable (Message) -> Void = { _ in },
    _ body: (XMPPStream, BoundStream) async throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    guard account.local != nil else {
      throw Failure(
        .invalidParameter, stage: .input, detail: .login(.noLocalPart, account))
    }
    var configuration = configuration(account, credentials)
    configuration.policy = server?.policy ?? SASLPolicy()
    if server?.isStepByStep == true { configuration.pipelining = .stepByStep }
    let stream = stream(configuration, onMessage: onMessage).stream
    let bound: BoundStream
    do throws(XMPPError) { bound = try await stream.connect() } catch { throw Failure(error) }
    return try await closing(stream) { () async throws(Failure) in try await body(stream, bound) }
  }

  /// Runs `body` on a stream with the account of `plan` logged in under a resource, without presence or message
  /// carbons, and without a session that outlives the connection.
  ///
  /// - Parameters:
  ///   - plan: changed to the variant that succeeded where the server refused the first one.
  ///   - resource: the resource to bind; its current session ends if the server permits that (RFC 6120 §7.7.2.2).
  ///   - requestsToken: whether to request a token for the plan's device (XEP-0484 §3.3).
  package func loggedIn<Result: Sendable>(
    by plan: inout LoginPlan, as resource: String, requestsToken: Bool = false,
    _ body: (XMPPStream, BoundStream) async throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    let (stream, bound) = try await connected(by: &plan) {
      $0.resource = resource
      $0.requestsToken = requestsToken
    } _: { (stream: XMPPStream) async throws(XMPPError) in
      try await stream.connect()
    }
    return try await closing(stream) { () async throws(Failure) in try await body(stream, bound) }
  }

  /// Lets the server verify the secret of `plan`, without binding a resource.
  ///
  /// - Parameter plan: changed as by ``loggedIn(by:as:_:)``.
  package func authenticate(by plan: inout LoginPlan) async throws(Failure) {
    _ = try await connected(by: &plan) { _ in
    } _: { (stream: XMPPStream) async throws(XMPPError) in
      try await stream.authenticate()
    }
  }

  private func connected<Result: Sendable>(
    by plan: inout LoginPlan, _ configure: (inout StreamConfiguration) -> Void,
    _ connect: (XMPPStream) async throws(XMPPError) -> Result
  ) async throws(Failure) -> (XMPPStream, Result) {
    while true {
      let presented = try await plan.resolveCredentials(within: .nanoseconds(timeout.nanoseconds))
      var configuration = plan.configuration(presenting: presented, timeout: timeout, language: language)
      configuration.requestsToken = false
      configure(&configuration)
      configuration.managesStream = false
      configuration.pipelining.offer = nil
      let seen = NIOLockedValueBox((mechanism: SASLMechanismName?.none, offered: [SASLMechanismName]()))
      let (stream, steps) = stream(configuration) { _ in
      } onStep: { step in
        seen.withLockedValue { seen in
          switch step {
          case .linkOK(_, let offer): seen.offered = offer.sasl.mechanisms
          case .logining(let mechanism): seen.mechanism = mechanism
          case .linking, .loginOK: break
          }
        }
      }
      do throws(XMPPError) { return (stream, try await connect(stream)) } catch {
        await steps.value
        let tried = seen.withLockedValue { $0 }
        let failure = plan.interpret(
          Failure(error), of: tried.mechanism, offered: tried.offered, presented: presented,
          at: Date().timeIntervalSince1970)
        let isAnother = plan.reconsider(
          after: failure, of: tried.mechanism, offered: tried.offered, presented: presented)
        if isAnother { continue }
        throw failure
      }
    }
  }

  private func closing<Result: Sendable>(
    _ stream: XMPPStream, _ body: () async throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    let result: Swift.Result<Result, Failure>
    do throws(Failure) { result = .success(try await body()) } catch { result = .failure(error) }
    await stream.close(patience: .seconds(1))
    return try result.get()
  }
}

extension StateChange {
  package init(_ step: LoginStep, previous: SessionState) {
    switch step {
    case .linking(let target):
      self.init(state: .linking, previous: previous)
      host = target.host
      port = target.port
    case .linkOK(let tls, _):
      self.init(state: .linkOK, previous: previous)
      self.tls = tls.map(TLSSummary.init)
    case .logining(let mechanism):
      self.init(state: .logining, previous: previous)
      self.mechanism = mechanism.rawValue
    case .loginOK(let bound):
      self.init(state: .loginOK, previous: previous)
      fullJID = bound.jid.description
      roundTrips = bound.roundTrips
    }
  }
}

extension TLSSummary {
  package init(_ info: TLSInfo) { self.init(version: info.version, cipher: info.cipher) }
}

extension TimeAmount {
  package var seconds: Double { Double(nanoseconds) / 1e9 }

  /// A time limit in seconds, at most a day; 0 means a day.
  package static func bounded(_ seconds: Double) -> TimeAmount {
    .nanoseconds(Int64(min(seconds > 0 ? seconds : 86_400, 86_400) * 1e9))
  }
}
