import NIOCore
import XMPP
import XMPPFeatures
import XMPPStanza
import XMPPTransport
import XMPPXML

/// A client that stays connected: it comes back after every passing fault, and resumes its session where the server still
/// has it (XEP-0198 §5).
///
/// ``ConnectionMachine`` decides, and the client carries its actions out. The program registers who handles which
/// stanzas; a handler gets the ``BoundSession`` to answer in.
///
///     var handlers = StanzaHandlers()
///     handlers.onSession { session in
///       if !session.isResumed { try await session.send([Presence().element]) }
///     }
///     let client = XMPPClient(ClientConfiguration(configuration, handlers: handlers))
///     try await client.run()
public actor XMPPClient {
  private let configuration: ClientConfiguration
  private var machine: ConnectionMachine
  /// The streams that have not ended, by their numbers.
  private var streams: [Int: XMPPStream] = [:]
  /// The bound session.
  public private(set) var session: BoundSession?
  /// Preparations and pauses, by the numbers of their attempts.
  private var work: [Int: Task<Void, Never>] = [:]
  private var isActive = true
  /// Requests that are being answered.
  private var openRequests = 0
  /// Why the client is to stay offline; nil where the program wants it so.
  private var reason: XMPPError?
  /// Those who wait until a session is bound, or until the client is offline.
  private var waiters: [(isForSession: Bool, continuation: Waiter)] = []

  private typealias Waiter = CheckedContinuation<Result<BoundSession?, XMPPError>, Never>

  /// Requests that are answered at a time; more are answered `resource-constraint`.
  static let maximumRequests = 32

  public init(_ configuration: ClientConfiguration) {
    self.configuration = configuration
    machine = ConnectionMachine(policy: configuration.policy)
  }

  /// What the client is doing.
  public var state: ConnectionMachine.State { machine.state }

  // MARK: What the program wants

  /// Goes online, and returns the session when it is bound.
  ///
  /// - Throws: why the client stays offline.
  public func connect() async throws(XMPPError) -> BoundSession {
    if let session { return session }
    guard let session = try await wait(for: .connect, isForSession: true) else { throw Self.disconnected }
    return session
  }

  /// Goes online, and returns when the program has disconnected the client.
  ///
  /// - Throws: why the client stays offline.
  public func run() async throws(XMPPError) { _ = try await wait(for: .connect, isForSession: false) }

  /// Says goodbye, and returns when the server has agreed, or has not within two seconds.
  public func disconnect() async { _ = try? await wait(for: .disconnect, isForSession: false) }

  /// Begins a new session, as with a changed configuration, in the place of the one that is bound. That one ends when the
  /// new one is authenticated.
  public func replace() async { await handle(.replace) }

  /// Goes offline until ``wake()``.
  public func suspend() async { await handle(.suspend) }

  public func wake() async { await handle(.wake) }

  /// Says to the server whether the user is there (XEP-0352), in this session and in all that follow.
  public func setActive(_ isActive: Bool) async {
    guard isActive != self.isActive else { return }
    self.isActive = isActive
    if let session { await tellClientState(in: session) }
  }

  /// An address or a route of this machine has changed, or the machine has slept: the server is asked whether it is still
  /// there, a pause ends, and an attempt from an address that is gone begins anew.
  ///
  /// - Parameter addresses: those that this machine has now.
  public func networkChanged(addresses: Set<String>) async {
    let used = await streams[machine.attemptNumber]?.localAddresses ?? []
    let isAddressGone = !used.isEmpty && used.isDisjoint(with: addresses)
    await handle(.networkChanged(isAddressGone: isAddressGone))
  }

  private static let disconnected = XMPPError(
    .cancelled, stage: .connect, .says(.clientDisconnected))

  /// Waits for a session, or until the client is offline.
  private func wait(
    for input: ConnectionMachine.Input, isForSession: Bool
  ) async throws(XMPPError) -> BoundSession? {
    let wasOffline = machine.isOffline
    let actions = machine.handle(input, at: configuration.clock.uptime())
    if wasOffline, machine.isOffline { return nil }
    return try await withCheckedContinuation { waiter in
      waiters.append((isForSession, waiter))
      let ended = takeWaiters(ofOffline: wasOffline)
      Task { await carryOut(actions, ending: ended) }
    }.get()
  }

  /// Those who have waited until the client is offline, where it has just become so; nil where it has not. They are told
  /// after the program was.
  private func takeWaiters(ofOffline wasOffline: Bool) -> [Waiter]? {
    guard machine.isOffline, !wasOffline else { return nil }
    defer { waiters = [] }
    return waiters.map(\.continuation)
  }

  // MARK: What the machine wants

  private func handle(_ input: ConnectionMachine.Input) async {
    let wasOffline = machine.isOffline
    let actions = machine.handle(input, at: configuration.clock.uptime())
    await carryOut(actions, ending: takeWaiters(ofOffline: wasOffline))
  }

  /// - Parameter ended: those who wait until the client is offline, where it is so now.
  private func carryOut(_ actions: [ConnectionMachine.Action], ending ended: [Waiter]? = nil) async {
    for action in actions { await carryOut(action) }
    guard let ended else { return }
    let reason = reason
    self.reason = nil
    await configuration.onEvent(.offline(reason))
    for waiter in ended { waiter.resume(returning: reason.map { .failure($0) } ?? .success(nil)) }
  }

  private func carryOut(_ action: ConnectionMachine.Action) async {
    switch action {
    case .prepare(let number, let remedy):
      if let remedy { await configuration.onEvent(.retrying(remedy)) }
      work[number] = Task { await prepare(number) }
    case .open(let number): open(number)
    case .close(let number): close(number)
    case .abort(let number): await streams[number]?.abort(.silentServer)
    case .probe(let number): Task { await probe(number) }
    case .decide(let number, let error, let wasBound):
      if !wasBound { await configuration.onEvent(.failed(error)) }
      let wasOnline = machine.wasOnline
      Task {
        let verdict = await configuration.verdict(error, wasOnline)
        reason = error
        await handle(.decided(number, verdict))
        reason = nil
      }
    case .startTimer(let number, let seconds):
      await configuration.onEvent(.waiting(seconds: seconds))
      guard machine.attemptNumber == number, machine.state.attempt == .waiting else { return }
      work[number] = Task {
        do { try await configuration.clock.sleep(seconds) } catch { return }
        work[number] = nil
        await handle(.timer(number))
      }
    case .stopTimer(let number): work.removeValue(forKey: number)?.cancel()
    }
  }

  private func prepare(_ number: Int) async {
    var stream: StreamConfiguration
    do throws(XMPPError) {
      stream = try await configuration.stream()
    } catch {
      work[number] = nil
      return await handle(.ended(number, error, leaving: nil))
    }
    work[number] = nil
    // It may have been given up meanwhile.
    guard machine.attemptNumber == number, machine.state.attempt == .preparing else { return }
    let replaced = session
    machine.succession.configure(&stream, at: configuration.clock.uptime(), isReplacing: replaced != nil)
    stream.requestsForProgram.formUnion(configuration.handlers.requestNames)
    stream.onTLSSession = { [weak self, onTLSSession = stream.onTLSSession] session in
      onTLSSession?(session)
      Task { [self] in await self?.keep(session) }
    }
    if let replaced {
      stream.beforeBinding = { [farewell = configuration.farewell] in
        await replaced.stream.close(sending: farewell())
      }
    }
    streams[number] = XMPPStream(stream)
    await handle(.prepared(number))
  }

  private func keep(_ session: TLSSession) { machine.succession.keep(session) }

  private func open(_ number: Int) {
    guard let stream = streams[number] else { return }
    Task {
      while let event = await stream.next() { await handle(event, of: stream, number) }
    }
    Task { _ = try? await stream.connect() }
  }

  private func close(_ number: Int) {
    work.removeValue(forKey: number)?.cancel()
    guard let stream = streams[number] else { return }
    let farewell = session?.number == number ? configuration.farewell() : []
    Task { await stream.close(sending: farewell) }
  }

  private func probe(_ number: Int) async {
    guard let stream = streams[number] else { return }
    var isAlive = true
    do throws(XMPPError) { try await stream.probe(timeout: .seconds(5)) } catch {
      isAlive = error.code == .cancelled
    }
    await handle(.probed(number, isAlive: isAlive))
  }

  // MARK: Events of a stream

  private func handle(_ event: StreamEvent, of stream: XMPPStream, _ number: Int) async {
    switch event {
    case .step(.loginOK(let bound)): await bind(stream, bound, number)
    case .step(let step):
      guard number == machine.attemptNumber else { return }
      machine.succession.passed(step)
      await configuration.onEvent(.step(step))
    case .closed(let error): await ended(stream, error, number)
    default:
      guard let session, session.number == number else { return }
      do { try await handle(event, in: session) } catch {
        // What is done with a session that has just ended fails, and that it has ended is told anyway.
        if session.isCurrent { await configuration.onEvent(.handlerFailed(error)) }
      }
    }
  }

  private func handle(_ event: StreamEvent, in session: BoundSession) async throws {
    switch event {
    case .message(let message): try await configuration.handlers.handle(message, session)
    case .presence(let presence): try await configuration.handlers.handle(presence, session)
    case .request(let request) where configuration.handlers.answers(request):
      try await answer(request, in: session)
    default: await configuration.onEvent(.other(event, session))
    }
  }

  private func bind(_ stream: XMPPStream, _ bound: BoundStream, _ number: Int) async {
    let actions = machine.handle(.bound(number), at: configuration.clock.uptime())
    guard machine.linkNumber == number else { return await carryOut(actions) }
    session?.end()
    let session = BoundSession(stream, bound, number: number)
    self.session = session
    let ended = waiters.filter(\.isForSession).map(\.continuation)
    waiters.removeAll(where: \.isForSession)
    await carryOut(actions)
    await configuration.onEvent(.bound(session))
    for waiter in ended { waiter.resume(returning: .success(session)) }
    if !isActive { await tellClientState(in: session) }
    do { try await configuration.handlers.handle(session) } catch {
      if session.isCurrent { await configuration.onEvent(.handlerFailed(error)) }
    }
  }

  private func ended(_ stream: XMPPStream, _ error: XMPPError?, _ number: Int) async {
    let lost = session?.number == number ? session : nil
    lost?.end()
    if lost != nil { session = nil }
    let management = await stream.management
    streams[number] = nil
    if let lost { await configuration.onEvent(.lost(lost, error)) }
    await handle(.ended(number, error, leaving: management))
  }

  /// A request whose answer takes long does not keep the stanzas behind it from being handled.
  private func answer(_ request: IQ, in session: BoundSession) async throws {
    guard openRequests < Self.maximumRequests else {
      return try await session.send([StanzaRouter.refusal(of: request, .resourceConstraint).element])
    }
    openRequests += 1
    Task {
      try? await session.send([configuration.handlers.answer(request, session).element])
      openRequests -= 1
    }
  }

  private func tellClientState(in session: BoundSession) async {
    guard let features = await session.stream.features, ClientState.isOffered(by: features) else { return }
    try? await session.send([(isActive ? ClientState.active : .inactive).element])
  }
}
