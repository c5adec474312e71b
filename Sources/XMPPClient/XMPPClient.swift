import NIOCore
import XMPP
import XMPPFeatures
import XMPPStanza
import XMPPTransport
import XMPPXML

/// A client that stays connected: it reconnects after every temporary failure, and resumes its session if the server
/// still has it (XEP-0198 §5).
///
/// ``ConnectionMachine`` makes the decisions, and the client carries them out. The program registers handlers for
/// stanzas; each handler gets the ``BoundSession`` for its answers.
///
///     var handlers = StanzaHandlers()
///     handlers.onSession { session in
///       if !session.isResumed { try await session.send([Presence().element]) }
///     }
///     let client = XMPPClient(ClientConfiguration(configuration, handlers: handlers))
///     try await client.run()
public actor XMPPClient {
  /// A stream that has not ended, or whose end was not reported yet.
  final class Connection {
    let stream: XMPPStream
    /// The addresses of this machine when the connection began.
    let addresses = LocalAddresses.now()
    /// The session of the stream.
    var session: BoundSession?
    /// The state that the server knows: every session, even a resumed one, starts active (XEP-0352 §5).
    var isActive = true
    /// The task that handles the stream's events in order.
    var events: Task<Void, Never>?

    init(_ stream: XMPPStream) { self.stream = stream }
  }

  /// How to close a session.
  struct Closing {
    /// The last stanzas; nil for those of ``ClientConfiguration/farewell``.
    var farewell: [XMLElement]?
    var patience = TimeAmount.seconds(2)
  }

  let configuration: ClientConfiguration
  var machine: ConnectionMachine
  /// The connections by stream number.
  var connections: [Int: Connection] = [:]
  /// The tasks for preparations, pauses and decisions, by attempt number.
  private var work: [Int: Task<Void, Never>] = [:]
  private(set) var isActive = true
  /// Whether the server supports client state indication.
  var wantsClientState = false
  /// The number of requests that are being answered.
  var openRequests = 0
  /// The error that keeps the client offline; nil where the program asked for it.
  private var reason: XMPPError?
  /// The callers that wait for a session, or for the client to be offline.
  var waiters: [(isForSession: Bool, continuation: Waiter)] = []

  typealias Waiter = CheckedContinuation<Result<BoundSession?, XMPPError>, Never>

  /// The maximum number of requests answered at a time; further ones get `resource-constraint`.
  static let maximumRequests = 32
  /// The maximum number of messages or requests handled together.
  private static let maximumTogether = 128

  public init(_ configuration: ClientConfiguration) {
    self.configuration = configuration
    machine = ConnectionMachine(policy: configuration.policy)
  }

  /// The state of the client.
  public var state: ConnectionMachine.State { machine.state }

  /// The bound session.
  public var session: BoundSession? {
    guard ![.none, .closing].contains(machine.state.link) else { return nil }
    return connections[machine.linkNumber]?.session
  }

  // MARK: Requests of the program

  /// Goes online and returns the bound session. Ends a pause at once.
  ///
  /// - Throws: the error that keeps the client offline.
  public func connect() async throws(XMPPError) -> BoundSession {
    if let session { return session }
    guard let session = try await wait(isForSession: true) else { throw Self.disconnected }
    return session
  }

  /// Goes online and returns when the program disconnects the client.
  ///
  /// - Throws: the error that keeps the client offline.
  public func run() async throws(XMPPError) { _ = try await wait(isForSession: false) }

  /// Ends the session and returns when the server has closed the stream or the time is up.
  ///
  /// - Parameters:
  ///   - farewell: the last stanzas; nil for those of ``ClientConfiguration/farewell``.
  ///   - patience: the time limit for the server.
  public func disconnect(sending farewell: [XMLElement]? = nil, patience: TimeAmount = .seconds(2)) async {
    await end(by: .disconnect, Closing(farewell: farewell, patience: patience))
  }

  /// Starts a new session in the place of the bound one, for example with a changed configuration. The old session ends
  /// when the new one is authenticated.
  ///
  /// - Parameter seconds: the pause before the attempt.
  public func replace(after seconds: Double = 0) async { await handle(.replace(after: seconds)) }

  /// Makes no attempt until ``goOnline(after:)``; returns when a running one is given up. An accepted session
  /// continues.
  public func hold(sending farewell: [XMLElement]? = nil, patience: TimeAmount = .seconds(2)) async {
    await end(by: .hold, Closing(farewell: farewell, patience: patience))
  }

  /// Goes online and returns at once. A pause that ``hold(sending:patience:)`` interrupted is completed first.
  ///
  /// - Parameter seconds: the minimum length of the pause.
  public func goOnline(after seconds: Double = 0) async { await handle(.connect(after: seconds)) }

  /// Goes offline until ``wake()``.
  public func suspend() async { await handle(.suspend) }

  public func wake() async {
    if machine.state.wish == .suspended { await goOnline() }
  }

  /// Accepts the session, which is in use from now on (``ClientConfiguration/acceptsSessions``).
  public func accept(_ session: BoundSession) async {
    await handle(.accepted(session.number))
    _ = await tellClientState()
  }

  /// Ends a session that was not accepted; its attempt counts as failed.
  public func refuse(_ session: BoundSession, for error: XMPPError, sending farewell: [XMLElement] = []) async
  {
    await handle(.refused(session.number, error), Closing(farewell: farewell))
  }

  /// Prevents resumption, because the server has ended the last session.
  public func endSession() { machine.succession.endSession() }

  /// Sets the session of an earlier program to resume with the next stream; returns false if this client has had one.
  public func restore(_ management: StreamManagement) -> Bool {
    guard machine.succession.resumable == nil, session == nil else { return false }
    machine.succession.restore(management)
    return true
  }

  /// Whether oversized stanzas are omitted, because one has ended a session of this client.
  public var leavesOutExcess: Bool { machine.succession.leavesOutExcess }

  /// Tells the server whether the user is active (XEP-0352), in this session and in all later ones.
  ///
  /// - Returns: whether there is a session and its server supports this.
  @discardableResult
  public func setActive(_ isActive: Bool) async -> Bool {
    self.isActive = isActive
    return await tellClientState()
  }

  /// Handles a change of this machine's addresses or routes, or a sleep: asks the server for a sign of life, ends a
  /// pause, and restarts attempts whose local address is gone. Returns when the server has answered.
  ///
  /// - Parameter addresses: the current addresses of this machine.
  public func networkChanged(addresses: Set<String> = LocalAddresses.now()) async {
    var gone: Set<Int> = []
    for (number, connection) in connections {
      let used = await connection.stream.localAddresses
      // Before a connection exists, its address is unknown.
      if used.isEmpty ? !connection.addresses.isSubset(of: addresses) : used.isDisjoint(with: addresses) {
        gone.insert(number)
      }
    }
    await handle(.networkChanged(gone: gone))
  }

  /// Asks the server at once for a sign of life; a session without an answer is lost.
  ///
  /// - Returns: whether there is a session and its server has answered.
  @discardableResult
  public func probe(timeout: TimeAmount = .seconds(5)) async -> Bool {
    guard let session else { return false }
    do throws(XMPPError) { try await session.probe(timeout: timeout) } catch {
      // A caller that was cancelled has learned nothing about the server.
      guard error.code != .cancelled, let connection = connections[session.number] else {
        return session.isCurrent
      }
      await connection.stream.abort(.silentServer)
      // Ends the session at once instead of with the stream's events, so that the result is correct.
      await ended(connection, .silentServer, session.number)
    }
    return session.isCurrent
  }

  private static let disconnected = XMPPError(
    .cancelled, stage: .connect, .says(.clientDisconnected))

  /// Waits for a session, or until the client is offline.
  private func wait(isForSession: Bool) async throws(XMPPError) -> BoundSession? {
    let input: ConnectionMachine.Input =
      machine.state.attempt == .waiting ? .replace(after: 0) : .connect(after: 0)
    let actions = machine.handle(input, at: configuration.clock.uptime())
    return try await withCheckedContinuation { waiter in
      waiters.append((isForSession, waiter))
      Task { await carryOut(actions, wasOffline: true) }
    }.get()
  }

  /// Returns when everything that the input ends has ended.
  private func end(by input: ConnectionMachine.Input, _ closing: Closing) async {
    let wasOffline = machine.isOffline
    let actions = machine.handle(input, at: configuration.clock.uptime())
    var numbers = actions.compactMap(\.ends)
    if machine.state.link == .closing { numbers.append(machine.linkNumber) }
    let running = numbers.flatMap { [work[$0], connections[$0]?.events] }.compactMap(\.self)
    await carryOut(actions, wasOffline: wasOffline, closing)
    for task in running { await task.value }
  }

  // MARK: Actions of the machine

  private func handle(_ input: ConnectionMachine.Input, _ closing: Closing = Closing()) async {
    let wasOffline = machine.isOffline
    let actions = machine.handle(input, at: configuration.clock.uptime())
    await carryOut(actions, wasOffline: wasOffline, closing)
  }

  func carryOut(
    _ actions: [ConnectionMachine.Action], wasOffline: Bool, _ closing: Closing = Closing()
  ) async {
    let isOver = machine.isOffline && !wasOffline
    let ended = isOver ? waiters.map(\.continuation) : []
    if isOver { waiters = [] }
    for action in actions { await carryOut(action, closing) }
    guard isOver else { return }
    let reason = reason
    self.reason = nil
    await configuration.onEvent(.offline(reason))
    for waiter in ended { waiter.resume(returning: reason.map { .failure($0) } ?? .success(nil)) }
  }

  private func carryOut(_ action: ConnectionMachine.Action, _ closing: Closing) async {
    switch action {
    case .prepare(let number, let remedy):
      if let remedy { await configuration.onEvent(.retrying(remedy)) }
      guard isAttempt(number, .preparing) else { return }
      begin(number) { await $0.prepare(number) }
    case .open(let number): open(number)
    case .close(let number): close(number, closing)
    case .abort(let number): await connections[number]?.stream.abort(.silentServer)
    case .probe(let number):
      await probe()
      await handle(.answered(number))
    case .decide(let number, let error, let wasInUse):
      if !wasInUse { await configuration.onEvent(.failed(error)) }
      guard isAttempt(number, .deciding) || wasInUse else { return }
      let end = ConnectionEnd(error: error, wasInUse: wasInUse, wasOnline: machine.wasOnline)
      begin(number) { await $0.decide(number, after: end) }
    case .startTimer(let number, let seconds):
      await configuration.onEvent(.waiting(seconds: seconds, mayHurry: machine.mayHurry))
      guard isAttempt(number, .waiting) else { return }
      begin(number) { client in
        do { try await client.configuration.clock.sleep(seconds) } catch { return }
        await client.handle(.timer(number))
      }
    case .stopTimer(let number): work[number]?.cancel()
    }
  }

  func isAttempt(_ number: Int, _ attempt: ConnectionMachine.Attempt) -> Bool {
    machine.attemptNumber == number && machine.state.attempt == attempt
  }

  private func begin(_ number: Int, _ body: @escaping @Sendable (isolated XMPPClient) async -> Void) {
    work[number] = Task {
      await body(self)
      work[number] = nil
    }
  }

  private func prepare(_ number: Int) async {
    var stream: StreamConfiguration
    do throws(XMPPError) { stream = try await configuration.stream() } catch {
      return await handle(.ended(number, error, leaving: nil))
    }
    // The attempt may have been given up meanwhile.
    guard isAttempt(number, .preparing) else { return }
    let replaced = session
    stream.requestsForProgram.formUnion(configuration.handlers.requestNames)
    stream.onTLSSession = { [weak self, onTLSSession = stream.onTLSSession] session in
      onTLSSession?(session)
      Task { [self] in await self?.keep(session) }
    }
    machine.succession.configure(&stream, at: configuration.clock.uptime(), isReplacing: replaced != nil)
    if let replaced {
      stream.beforeBinding = { [farewell = configuration.farewell] in
        await replaced.stream.close(sending: farewell())
      }
    }
    connections[number] = Connection(XMPPStream(stream))
    await handle(.prepared(number))
  }

  private func keep(_ session: TLSSession) { machine.succession.keep(session) }

  private func open(_ number: Int) {
    guard let connection = connections[number] else { return }
    // A task keeps the memory of its deepest call until it ends, so events are handled in tasks of their own.
    connection.events = Task {
      while let events = await connection.stream.nextEvents(Self.maximumTogether) {
        await Task { await handle(events, of: connection, number) }.value
      }
    }
    Task { [stream = connection.stream] in _ = try? await stream.connect() }
  }

  private func close(_ number: Int, _ closing: Closing) {
    work[number]?.cancel()
    guard let connection = connections[number] else { return }
    let isSession = connection.session != nil
    connection.session?.end()
    Task { [configuration, stream = connection.stream] in
      var farewell: [XMLElement] = []
      if isSession { farewell = closing.farewell ?? [] }
      if isSession, closing.farewell == nil { farewell = await configuration.farewell() }
      await stream.close(sending: farewell, patience: closing.patience)
    }
  }

  private func decide(_ number: Int, after end: ConnectionEnd) async {
    let verdict = await configuration.verdict(end)
    reason = end.error
    await handle(.decided(number, verdict))
    reason = nil
  }
}

extension ConnectionMachine.Action {
  /// The number of the stream or attempt that the action ends.
  fileprivate var ends: Int? {
    switch self {
    case .close(let number), .stopTimer(let number): number
    case .prepare, .open, .abort, .probe, .decide, .startTimer: nil
    }
  }
}
