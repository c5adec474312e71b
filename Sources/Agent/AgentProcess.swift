import AgentProtocol
import CLinux
import Glibc
import Logging
import Synchronization
import UnixSignals

/// The agent as a process: takes the lock, opens the stores, logs in who was logged in, serves, and says goodbye.
public struct AgentProcess: Sendable {
  private let accounts: AccountStore
  private let hub: EventHub
  private let registry: SessionRegistry
  private let server: AgentServer
  private let log: Logger
  private let activity: AsyncStream<Void>

  /// Becomes the agent of this user.
  ///
  /// - Throws: `alreadyRunning` where there is one, `databaseError` where a store cannot be used.
  public init(_ paths: AgentPaths) throws(Failure) {
    Self.harden()
    // Before the stores: of several agents that start at a time, only one is to open them.
    let lock = try AgentLock(paths)
    let log = AgentLog(paths).logger("agent")
    self.log = log
    accounts = AccountStore(directory: paths.configuration) { log.warning("\($0.localized(.english))") }
    let store = try LocalStore(path: paths.database)
    if let moved = store.movedAside { log.error("a damaged database was moved to \(moved)") }
    hub = try EventCursor(store: store).hub()
    let server = AgentServer(lock: lock, hub: hub, logger: log)
    self.server = server
    let (activity, change) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    self.activity = activity
    registry = SessionRegistry(
      accounts: accounts, hub: hub, log: log, language: Language.current == .chinese ? "zh" : "en",
      pace: ServerPace(store: store),
      activity: { change.yield() }, onStop: { server.stop() })
  }

  /// No core dump, and no other process of this user, gets to see secrets in memory. A closed pipe is an error of
  /// its write, not the end of the process.
  private static func harden() {
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    linux_set_dumpable(0)
    signal(SIGPIPE, SIG_IGN)
  }

  /// Is the agent until it is stopped, a signal comes, or nobody needs it.
  ///
  /// - Parameter tellsEnd: throws what the last session ended with, where that is why nobody needs the agent.
  public func run(tellsEnd: Bool = false) async throws(Failure) {
    try await serve(tellsEnd: tellsEnd) {
      // The command that started this agent speaks first: its login is not to meet an automatic one.
      try await Task.sleep(for: .milliseconds(200))
      await registry.autoLogin()
    }
  }

  /// Logs in and is that session until it ends or a signal comes; other commands find this process as their agent.
  ///
  /// - Throws: what the login failed with, or what ended the session for good.
  public func run(
    login parameters: LoginMethod.Parameters, onEvent: @escaping @Sendable (Event) -> Void
  ) async throws(Failure) {
    let account = try registry.bareJID(parameters.account)
    let events = hub.subscribe(EventHub.Filter(account: account))
    let isLoggedIn = Flag()
    @Sendable func endWhenIdle() async {
      if isLoggedIn.isSet, await registry.isIdle(account) { events.cancel() }
    }
    try await serve(onActivity: endWhenIdle) {
      defer { server.stop() }
      async let end = lastCause(in: events, onEvent: onEvent)
      _ = try await registry.login(parameters, client: ClientHandle(id: 0))
      isLoggedIn.set()
      await endWhenIdle()
      if let failure = await end { throw failure }
    }
  }

  private final class Flag: Sendable {
    private let value = Mutex(false)
    var isSet: Bool { value.withLock { $0 } }
    func set() { value.withLock { $0 = true } }
  }

  /// Hands the events on until there are no more; why the session is in its last state, where that is a failure.
  private func lastCause(in events: EventHub.Subscription, onEvent: @Sendable (Event) -> Void) async
    -> Failure?
  {
    var cause: Failure?
    for await event in events {
      onEvent(event)
      if case .state(let change) = event.body { cause = change.cause }
    }
    return cause
  }

  private func serve(
    tellsEnd: Bool = false, onActivity: @escaping @Sendable () async -> Void = {},
    _ body: @escaping @Sendable () async throws -> Void
  ) async throws(Failure) {
    let watching = Task { await keepAlive(onActivity) }
    let signals = Task { await obeySignals() }
    defer {
      watching.cancel()
      signals.cancel()
    }
    let work = Task { try await body() }
    let running = Task { try await server.run(registry) }
    let served = await running.result
    let end = tellsEnd ? await registry.lastEnd : nil
    work.cancel()
    await registry.closeAll()
    let worked = await work.result
    log.info("ended")
    for result in [served, worked] {
      do {
        try result.get()
      } catch let failure as Failure where failure.name != .cancelled {
        throw failure
      } catch {
        // What was going on was given up with the agent.
      }
    }
    if let end { throw end }
  }

  /// Tells the server whether an account needs the agent, whenever that may have changed.
  private func keepAlive(_ onActivity: @Sendable () async -> Void) async {
    for await _ in activity {
      server.keepAlive(accounts: await registry.isBusy ? 1 : 0)
      await onActivity()
    }
  }

  /// SIGTERM, SIGINT and SIGHUP: every session says goodbye, then the process ends.
  private func obeySignals() async {
    for await signal in await UnixSignalsSequence(trapping: [.sigterm, .sigint, .sighup]) {
      log.info("signal \(signal)")
      await registry.closeAll()
      server.stop()
    }
  }
}
