import AgentLogin
import AgentProtocol
import AgentSession
import AgentStore
import AgentSystem
import Glibc
import Logging
import NIOConcurrencyHelpers
import NIOPosix
import UnixSignals

/// The agent as a process: takes the lock, opens the stores, restores the sessions, serves clients, and ends the
/// sessions politely.
package struct AgentProcess: Sendable {
  /// The maximum number of seconds from the decision to exit until the exit.
  private static let patience = 20.0
  /// The maximum number of seconds for one step of a database upgrade.
  private static let patienceOfUpgrade = 600

  private let accounts: AccountsOnDisk
  private let store: LocalStore
  private let hub: EventHub
  private let registry: SessionRegistry
  private let server: AgentServer
  private let premises: AgentPremises
  private let log: Logger
  private let activity: AsyncStream<Void>
  /// Changes of state, for the service manager.
  private let changes: AsyncStream<Void>
  private let notify: NotifySocket?

  /// Makes this process the agent of the user.
  ///
  /// - Throws: `alreadyRunning` where another agent runs, `databaseError` where a store cannot be used.
  package init(_ paths: AgentPaths, _ terms: AgentTerms = AgentTerms()) throws(Failure) {
    ProcessSettings.apply()
    // Before the stores are opened: of several agents that start together, only one may open them.
    let lock = try AgentLock(paths)
    let log = AgentLog(paths).logger("agent")
    self.log = log
    let accounts = AccountsOnDisk(directory: paths.configuration, log: log)
    self.accounts = accounts
    StoreUpgrade.terms.withLockedValue { upgrade in
      upgrade.isAgent = true
      upgrade.onProgress = { [notify = terms.notify] percent in
        notify?.send(
          .extending(seconds: Self.patienceOfUpgrade),
          .status("upgrading the database: \(percent) %"))
      }
    }
    let store = try LocalStore(path: paths.database, log: log)
    self.store = store
    hub = try EventCursor(store: store).hub()
    let server = AgentServer(
      lock: lock, hub: hub, store: store, logger: log, idle: IdleExit(started: .now, isKept: terms.isKept))
    self.server = server
    premises = AgentPremises(lock: lock, server: server, store: store, log: log)
    let (activity, change) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    self.activity = activity
    let (changes, told) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    self.changes = changes
    let notify = terms.notify
    self.notify = notify
    let resources = SessionResources(
      accounts: accounts.store, hub: hub, localStore: store, log: log,
      language: Language.current == .chinese ? "zh" : "en", pace: ServerPace(store: store),
      activity: {
        change.yield()
        told.yield()
      })
    registry = SessionRegistry(
      resources, accounts: accounts, onIdle: terms.onIdle, isService: notify != nil,
      onEnding: { Self.end(notify, log) }, onStop: { server.stop() })
    let registry = registry
    store.tell { news in Task { await registry.storeChanged(news) } }
  }

  /// The pauses without a change of state after which memory is returned: first that of logins, then that of catching
  /// up, which takes longer with many accounts.
  private static let timesToTrim = [Duration.seconds(3), .seconds(30)]

  /// Runs until the agent is stopped, a signal arrives, or the agent is not needed any more.
  ///
  /// - Parameter tellsEnd: whether to throw the failure that ended the last session, if that is why the agent exits.
  package func run(tellsEnd: Bool = false) async throws(Failure) {
    try await serve(reloads: true, tellsEnd: tellsEnd) {
      // The command that started this agent comes first, before automatic logins.
      try await Task.sleep(for: .milliseconds(200))
      await registry.reload()
      await accounts.watch { await registry.reload() }
    }
  }

  /// Logs in one account and runs its session until it ends or a signal arrives. Other commands find this process as
  /// their agent.
  ///
  /// - Throws: the failure of the login, or the failure that ended the session for good.
  package func run(
    login parameters: LoginMethod.Parameters, onEvent: @escaping @Sendable (Event) -> Void
  ) async throws(Failure) {
    let account = try BareJID.normalise(parameters.account)
    let events = hub.subscribe(EventHub.Filter(account: account))
    let isLoggedIn = Flag()
    @Sendable func endWhenIdle() async {
      if isLoggedIn.isSet, await registry.isIdle(account) { events.cancel() }
    }
    let jobControl = Task { await obeyTerminal() }
    defer { jobControl.cancel() }
    try await serve(reloads: false, onActivity: endWhenIdle) {
      defer { server.stop() }
      async let end = lastCause(in: events, onEvent: onEvent)
      _ = try await registry.login(parameters)
      isLoggedIn.set()
      await endWhenIdle()
      if let failure = await end { throw failure }
    }
  }

  private final class Flag: Sendable {
    private let value = NIOLockedValueBox(false)
    var isSet: Bool { value.withLockedValue { $0 } }
    func set() { value.withLockedValue { $0 = true } }
  }

  /// Passes on the events until they end; returns the cause of the session's last state, if that is a failure.
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

  /// - Parameter reloads: whether SIGHUP reloads the accounts instead of ending the process.
  private func serve(
    reloads: Bool, tellsEnd: Bool = false, onActivity: @escaping @Sendable () async -> Void = {},
    _ body: @escaping @Sendable () async throws -> Void
  ) async throws(Failure) {
    let watching = Task { await reportActivity(onActivity) }
    let signals = Task { await obeySignals(reloads: reloads) }
    let living = Task { await showLife() }
    let status = Task { await showStatus() }
    let network = Task { await watchNetwork() }
    let keeping = Task {
      await premises.maintain { failure in
        log.error("another agent has replaced this one, which ends now")
        await registry.stop()
      }
    }
    defer {
      for task in [watching, signals, living, status, network, keeping] { task.cancel() }
    }
    let work = Task { try await body() }
    let running = Task {
      try await server.run(
        MethodTable(registry), whenGone: { await registry.clientClosed($0) },
        onListening: { notify?.send(.ready) })
    }
    let served = await running.result
    let end = tellsEnd ? await registry.lastEnd : nil
    work.cancel()
    await registry.closeAll()
    let worked = await work.result
    keeping.cancel()
    try? await store.inBackground { store throws(Failure) in store.finish() }
    log.info("ended")
    for result in [served, worked] {
      do {
        try result.get()
      } catch let failure as Failure where failure.name != .cancelled {
        throw failure
      } catch {
        // Work that was under way ends with the agent.
      }
    }
    if let end { throw end }
  }

  /// Reports to the server, after each change, whether an account needs the agent.
  private func reportActivity(_ onActivity: @Sendable () async -> Void) async {
    var quiet: Task<Void, any Error>?
    for await _ in activity {
      server.update(accounts: await registry.isBusy ? 1 : 0)
      await onActivity()
      quiet?.cancel()
      quiet = Task {
        for pause in Self.timesToTrim {
          try await Task.sleep(for: pause)
          ResidentMemory.shrink()
        }
      }
    }
    quiet?.cancel()
  }

  /// Sends the service manager a summary of the sessions, at a readable rate.
  private func showStatus() async {
    guard let notify else { return }
    var told: String?
    while !Task.isCancelled {
      let text = await registry.summary
      if text != told { notify.send(.status(text)) }
      told = text
      for await _ in changes { break }
      try? await Task.sleep(for: .seconds(1))
    }
  }

  /// Notifies the sessions of network changes.
  private func watchNetwork() async {
    let eventLoop = MultiThreadedEventLoopGroup.singleton.any()
    for await change in NetworkWatch.changes(on: eventLoop, log: log) {
      await registry.networkChanged(change)
    }
  }

  /// Handles signals. SIGTERM and SIGINT end every session politely and then the process. SIGHUP reloads the accounts.
  private func obeySignals(reloads: Bool) async {
    for await signal in await UnixSignalsSequence(trapping: [.sigterm, .sigint, .sighup]) {
      log.info("signal \(signal)")
      if reloads, signal == .sighup {
        notify?.send(.reloading(microseconds: NotifySocket.monotonic))
        await registry.reload()
        notify?.send(.ready)
      } else {
        await registry.closeAll()
        server.stop()
      }
    }
  }

  /// Handles Ctrl-Z: the sessions are idle while the process is stopped.
  private func obeyTerminal() async {
    for await _ in JobControl.wishes() {
      await registry.stops()
      log.info("stopped by the terminal")
      JobControl.stop()
      log.info("continued by the terminal")
      await registry.goesOn()
    }
  }

  /// Sends the watchdog's signs of life, as long as the registry responds.
  private func showLife() async {
    guard let notify, let interval = notify.watchdogInterval else { return }
    while (try? await Task.sleep(for: interval)) != nil {
      _ = await registry.isBusy
      notify.send(.watchdog)
    }
  }

  /// Announces the exit, and enforces it after ``patience`` even if sessions have not ended.
  private static func end(_ notify: NotifySocket?, _ log: Logger) {
    notify?.send(.stopping, .status("ending"))
    Task.detached {
      try await Task.sleep(for: .seconds(patience))
      log.error("ended before every session was closed")
      _exit(0)
    }
  }
}
