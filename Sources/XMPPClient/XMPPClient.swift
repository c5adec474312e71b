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
  /// A stream that has not ended, or whose end is not told yet.
  final class Connection {
    let stream: XMPPStream
    /// What addresses this machine had when it began.
    let addresses = LocalAddresses.now()
    /// What it has led to.
    var session: BoundSession?
    /// What the server knows of the user: a new session is an active one, and so is a resumed one (XEP-0352 §5).
    var isActive = true
    /// Handles its events, in order.
    var events: Task<Void, Never>?

    init(_ stream: XMPPStream) { self.stream = stream }
  }

  /// How a session is closed.
  struct Closing {
    /// nil: as ``ClientConfiguration/farewell``.
    var farewell: [XMLElement]?
    var patience = TimeAmount.seconds(2)
  }

  let configuration: ClientConfiguration
  var machine: ConnectionMachine
  /// By the numbers of their streams.
  var connections: [Int: Connection] = [:]
  /// Preparations, pauses and questions, by the numbers of their attempts.
  private var work: [Int: Task<Void, Never>] = [:]
  private(set) var isActive = true
  /// The server has said that it wants to know that.
  var wantsClientState = false
  /// Requests that are being answered.
  var openRequests = 0
  /// Why the client is to stay offline; nil where the program wants it so.
  private var reason: XMPPError?
  /// Those who wait until a session is bound, or until the client is offline.
  var waiters: [(isForSession: Bool, continuation: Waiter)] = []

  typealias Waiter = CheckedContinuation<Result<BoundSession?, XMPPError>, Never>

  /// Requests that are answered at a time; more are answered `resource-constraint`.
  static let maximumRequests = 32
  /// Messages, or requests, that are taken from a stream together.
  private static let maximumTogether = 128

  public init(_ configuration: ClientConfiguration) {
    self.configuration = configuration
    machine = ConnectionMachine(policy: configuration.policy)
  }

  /// What the client is doing.
  public var state: ConnectionMachine.State { machine.state }

  /// The bound session.
  public var session: BoundSession? {
    guard ![.none, .closing].contains(machine.state.link) else { return nil }
    return connections[machine.linkNumber]?.session
  }

  // MARK: What the program wants

  /// Goes online, and returns the session when it is bound. A pause ends at once.
  ///
  /// - Throws: why the client stays offline.
  public func connect() async throws(XMPPError) -> BoundSession {
    if let session { return session }
    guard let session = try await wait(isForSession: true) else { throw Self.disconnected }
    return session
  }

  /// Goes online, and returns when the program has disconnected the client.
  ///
  /// - Throws: why the client stays offline.
  public func run() async throws(XMPPError) { _ = try await wait(isForSession: false) }

  /// Says goodbye, and returns when the server has agreed, or has not for too long.
  ///
  /// - Parameters:
  ///   - farewell: what is said; nil: as ``ClientConfiguration/farewell``.
  ///   - patience: how long the server may take.
  public func disconnect(sending farewell: [XMLElement]? = nil, patience: TimeAmount = .seconds(2)) async {
    await end(by: .disconnect, Closing(farewell: farewell, patience: patience))
  }

  /// Begins a new session, as with a changed configuration, in the place of the one that is bound. That one ends when the
  /// new one is authenticated.
  ///
  /// - Parameter seconds: the pause before that.
  public func replace(after seconds: Double = 0) async { await handle(.replace(after: seconds)) }

  /// Makes no attempt until ``goOnline(after:)``, and returns when one that was on its way is given up. A session that was
  /// accepted goes on.
  public func hold(sending farewell: [XMLElement]? = nil, patience: TimeAmount = .seconds(2)) async {
    await end(by: .hold, Closing(farewell: farewell, patience: patience))
  }

  /// Goes online, and returns at once. A pause that ``hold(sending:patience:)`` has broken off goes on.
  ///
  /// - Parameter seconds: that the pause takes at least.
  public func goOnline(after seconds: Double = 0) async { await handle(.connect(after: seconds)) }

  /// Goes offline until ``wake()``.
  public func suspend() async { await handle(.suspend) }

  public func wake() async {
    if machine.state.wish == .suspended { await goOnline() }
  }

  /// The session is in use from now on (``ClientConfiguration/acceptsSessions``).
  public func accept(_ session: BoundSession) async {
    await handle(.accepted(session.number))
    _ = await tellClientState()
  }

  /// Ends a session that was not accepted: its attempt has failed.
  public func refuse(_ session: BoundSession, for error: XMPPError, sending farewell: [XMLElement] = []) async
  {
    await handle(.refused(session.number, error), Closing(farewell: farewell))
  }

  /// Nothing is resumed any more: the server has ended the last session.
  public func endSession() { machine.succession.endSession() }

  /// The session of an earlier program goes on with the next stream; false where this client has had one of its own.
  public func restore(_ management: StreamManagement) -> Bool {
    guard machine.succession.resumable == nil, session == nil else { return false }
    machine.succession.restore(management)
    return true
  }

  /// A stanza of the sessions of this client was too much, and such ones are left out.
  public var leavesOutExcess: Bool { machine.succession.leavesOutExcess }

  /// Says to the server whether the user is there (XEP-0352), in this session and in all that follow.
  ///
  /// - Returns: whether there is a session, and its server wants to know.
  @discardableResult
  public func setActive(_ isActive: Bool) async -> Bool {
    self.isActive = isActive
    return await tellClientState()
  }

  /// An address or a route of this machine has changed, or the machine has slept: the server is asked whether it is still
  /// there, a pause ends, and what comes from an address that is gone begins anew. Returns when the server has answered.
  ///
  /// - Parameter addresses: those that this machine has now.
  public func networkChanged(addresses: Set<String> = LocalAddresses.now()) async {
    var gone: Set<Int> = []
    for (number, connection) in connections {
      let used = await connection.stream.localAddresses
      // Before there is a connection nobody knows which address it will have.
      if used.isEmpty ? !connection.addresses.isSubset(of: addresses) : used.isDisjoint(with: addresses) {
        gone.insert(number)
      }
    }
    await handle(.networkChanged(gone: gone))
  }

  /// Asks the server at once whether it is there: a session without an answer is lost.
  ///
  /// - Returns: whether there is a session, and its server is there.
  @discardableResult
  public func probe(timeout: TimeAmount = .seconds(5)) async -> Bool {
    guard let session else { return false }
    do throws(XMPPError) { try await session.probe(timeout: timeout) } catch {
      // Who has asked does not wait any more: that says nothing of the server.
      guard error.code != .cancelled, let connection = connections[session.number] else {
        return session.isCurrent
      }
      await connection.stream.abort(.silentServer)
      // At once, not when the stream's events come to it: who has asked is to be told the truth.
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

  /// Returns when everything has ended that an input ends.
  private func end(by input: ConnectionMachine.Input, _ closing: Closing) async {
    let wasOffline = machine.isOffline
    let actions = machine.handle(input, at: configuration.clock.uptime())
    var numbers = actions.compactMap(\.ends)
    if machine.state.link == .closing { numbers.append(machine.linkNumber) }
    let running = numbers.flatMap { [work[$0], connections[$0]?.events] }.compactMap(\.self)
    await carryOut(actions, wasOffline: wasOffline, closing)
    for task in running { await task.value }
  }

  // MARK: What the machine wants

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
    // It may have been given up meanwhile.
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
    // A task keeps the memory of its deepest call until it ends: what is handled has one of its own.
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
  /// The number of the stream or attempt that it ends.
  fileprivate var ends: Int? {
    switch self {
    case .close(let number), .stopTimer(let number): number
    case .prepare, .open, .abort, .probe, .decide, .startTimer: nil
    }
  }
}
