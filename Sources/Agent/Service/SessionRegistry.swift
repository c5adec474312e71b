import AgentLogin
import AgentProtocol
import AgentStore
import AgentSystem
import Glibc
import Logging
import NIOCore
import XMPPStanza

/// The sessions of all accounts, and the requests that clients may make to them.
///
/// The registry finds the account of a request; the session carries the request out.
actor SessionRegistry {
  let onDisk: AccountsOnDisk
  private var accounts: AccountStore { onDisk.store }
  let hub: EventHub
  let localStore: LocalStore
  private let log: Logger
  private let language: String
  private let started = Timestamp.now()
  private let pace: ServerPace
  /// The idle mode where the caller of ``AgentIdleMethod`` names none.
  private let onIdle: IdleMode
  private let isService: Bool
  private let onEnding: @Sendable () -> Void
  private let onStop: @Sendable () async -> Void
  private let activity: @Sendable () -> Void
  private(set) var sessions: [JID: Session] = [:]
  /// The accounts whose presence a client holds.
  private var holds: [ClientHandle: Set<JID>] = [:]
  /// Sessions that are idle because the process was stopped.
  private var stopped: [Session] = []
  /// Whether the agent is about to exit, so that no account logs in automatically.
  private var isEnding = false

  /// - Parameters:
  ///   - isService: whether a service manager has started the agent.
  ///   - activity: called when ``isBusy`` may have changed.
  ///   - onEnding: called once, when the sessions begin to end with the agent.
  ///   - onStop: called when `agent.stop` has closed the sessions.
  init(
    accounts: AccountsOnDisk, hub: EventHub, localStore: LocalStore, log: Logger, language: String,
    pace: ServerPace = ServerPace(),
    onIdle: IdleMode = .csi, isService: Bool = false, activity: @escaping @Sendable () -> Void = {},
    onEnding: @escaping @Sendable () -> Void = {}, onStop: @escaping @Sendable () async -> Void
  ) {
    onDisk = accounts
    self.onIdle = onIdle
    self.isService = isService
    self.onEnding = onEnding
    self.hub = hub
    self.localStore = localStore
    self.log = log
    self.language = language
    self.pace = pace
    self.activity = activity
    self.onStop = onStop
  }

  // MARK: Accounts

  private func session(of account: JID) async throws(Failure) -> Session {
    if let session = sessions[account] { return session }
    let file = try await loaded().get()
    let stored = file[account.description]
    // Another call may have created the session meanwhile.
    if let session = sessions[account] { return session }
    let session = Session(
      account: account, hub: hub, accounts: accounts, localStore: localStore, log: log, language: language,
      pace: pace,
      activity: activity)
    sessions[account] = session
    if let presence = stored?.presence {
      await session.perform { $0.presence.restore(PresenceIntent(presence)) }
    }
    if let idle = stored.map(\.idle) ?? file.idle { _ = await session.setIdle(idle) }
    return session
  }

  /// The session of the named stored account, or of the default one. An anonymous session has no stored account and is
  /// found all the same.
  func storedSession(_ name: String?) async throws(Failure) -> Session {
    let file = await loaded()
    if let session = await unstored(name, beside: file) { return session }
    return try await session(of: try JID(given: file.get().account(name).account))
  }

  /// The stored accounts as last read, or the failure if they could never be read.
  private func loaded() async -> Result<AccountFile, Failure> {
    do throws(Failure) { return .success(try await onDisk.load()) } catch { return .failure(error) }
  }

  /// The session of the named account, which need not be stored, or of the default account.
  private func namedSession(_ name: String?) async throws(Failure) -> Session {
    guard let name else { return try await storedSession(nil) }
    return try await session(of: try JID(given: name).bare)
  }

  /// The active session of an account that is not stored: an anonymous login, or a first login in the background.
  /// Without a name and a default account, the only such session.
  private func unstored(_ name: String?, beside file: Result<AccountFile, Failure>) async -> Session? {
    let file = try? file.get()
    if let name {
      guard let jid = try? JID(name).bare, let session = sessions[jid], file?[jid.description] == nil,
        await session.isActive
      else { return nil }
      return session
    }
    if file?.default != nil { return nil }
    let stored = Set(file?.accounts.map(\.account) ?? [])
    var active: [Session] = []
    for (jid, session) in sessions where !stored.contains(jid.description) {
      if await session.isActive { active.append(session) }
    }
    return active.count == 1 ? active.first : nil
  }

  /// Applies changes that other processes have made to the stored accounts, all accounts at the same time. On the first
  /// call every account is new, so accounts that were logged in when the last agent ended log in again.
  func reload() async {
    let news = await onDisk.news()
    // The number of logins determines how far they are spread out in time.
    for change in news where change.consequence == .logIn {
      guard let account = change.after else { continue }
      pace.join(account.account, at: account.options.serverName(of: account.domain))
    }
    let begins = news.filter { $0.isStart && $0.consequence == .logIn }.count
    if begins > 0, let failure = DescriptorLimit.failure(for: begins) {
      log.error("\(failure.message)")
    }
    await withDiscardingTaskGroup { group in
      for change in news where change.consequence != .nothing && !isEnding {
        guard let jid = try? JID(change.account), let session = try? await session(of: jid) else { continue }
        group.addTask { [log] in
          do throws(Failure) { try await session.follow(change) } catch {
            log.error("stored account", metadata: ["account": "\(jid)", "failure": "\(error.message)"])
          }
        }
      }
    }
  }

  /// A summary for people who look at the service.
  var summary: String {
    get async {
      var online = 0
      var active = 0
      for session in sessions.values where await session.isBusy {
        active += 1
        if await session.isOnline { online += 1 }
      }
      return "\(online) of \(active) sessions online"
    }
  }

  /// Whether any session is active. Called often, so it stops at the first one.
  var isBusy: Bool {
    get async {
      for session in sessions.values where await session.isBusy { return true }
      return false
    }
  }

  /// The failure that ended the last session for good; nil where the agent is stopped or the user logged out.
  var lastEnd: Failure? {
    get async {
      if isEnding { return nil }
      var ends: [Reconnection.End] = []
      for session in sessions.values {
        if let end = await session.end, end.failure.name != .cancelled { ends.append(end) }
      }
      return ends.max { $0.time < $1.time }?.failure
    }
  }

  /// Whether the account has no active session.
  func isIdle(_ account: String) async -> Bool {
    guard let jid = try? JID(account), let session = sessions[jid] else { return true }
    return await !session.isBusy
  }

  // MARK: Requests

  func login(_ parameters: LoginMethod.Parameters) async throws(Failure) -> LoginMethod.Result {
    var parameters = parameters
    let jid = try JID(given: parameters.account)
    if let resource = jid.resource, parameters.options.resource == nil {
      parameters.options.resource = resource
    }
    return try await session(of: jid.bare).login(parameters)
  }

  func logout(_ parameters: LogoutMethod.Parameters) async throws(Failure) -> LogoutMethod.Result {
    let file = await loaded()
    if !parameters.all, let session = await unstored(parameters.account, beside: file) {
      return try await session.logout(parameters)
    }
    let stored = try file.get()
    let named = try parameters.all ? stored.accounts : [stored.account(parameters.account)]
    var leaving: [Session] = []
    if parameters.all {
      for (jid, session) in sessions where jid.local == nil {
        if await session.isActive { leaving.append(session) }
      }
    }
    for account in named {
      let session = try await session(of: try JID(given: account.account))
      // The automatic login of a new agent may be about to begin.
      if await session.isActive || account.isLogin || parameters.forget { leaving.append(session) }
    }
    if leaving.isEmpty, !parameters.all {
      throw Failure(.notLoggedIn, stage: .request, detail: (named.first?.account).map(FailureDetail.text))
    }
    return try await Self.logout(leaving, parameters)
  }

  func status(_ parameters: StatusMethod.Parameters) async throws(Failure) -> [SessionStatus] {
    let file = try await loaded().get()
    var answer: [SessionStatus] = []
    if parameters.all {
      for (jid, session) in sessions where jid.local == nil {
        guard await session.isActive else { continue }
        if parameters.probe { await session.probe(timeout: parameters.bound) }
        answer.append(await session.currentStatus())
      }
    } else if let session = await unstored(parameters.account, beside: .success(file)) {
      if parameters.probe { await session.probe(timeout: parameters.bound) }
      return try await completed([await session.currentStatus()])
    }
    let chosen = try parameters.all ? file.accounts : [file.account(parameters.account)]
    if parameters.probe { await probe(chosen, within: parameters.bound) }
    for account in chosen {
      if let jid = try? JID(account.account), let session = sessions[jid] {
        answer.append(await session.currentStatus().completed(by: account))
      } else {
        answer.append(SessionStatus(stored: account))
      }
    }
    return try await completed(answer)
  }

  /// Probes the servers of these accounts at the same time.
  private func probe(_ accounts: [Account], within bound: TimeAmount) async {
    await withDiscardingTaskGroup { group in
      for account in accounts {
        guard let jid = try? JID(account.account), let session = sessions[jid] else { continue }
        group.addTask { await session.probe(timeout: bound) }
      }
    }
  }

  func idle(_ parameters: AgentIdleMethod.Parameters) async throws(Failure) -> [IdleStatus] {
    try await setIdle(parameters.mode ?? onIdle, of: parameters.account)
  }

  func active(_ parameters: AgentActiveMethod.Parameters) async throws(Failure) -> [IdleStatus] {
    try await setIdle(nil, of: parameters.account)
  }

  private func setIdle(_ mode: IdleMode?, of account: String?) async throws(Failure) -> [IdleStatus] {
    if let account {
      let session = try await storedSession(account)
      let name = session.account.description
      await storeIdle { $0[name]?.idle = mode }
      return [await session.setIdle(mode)]
    }
    await storeIdle { file in
      file.idle = mode
      for account in file.accounts { file[account.account]?.idle = mode }
    }
    return await withTaskGroup(of: IdleStatus?.self) { group in
      for session in sessions.values {
        group.addTask { await session.isBusy ? await session.setIdle(mode) : nil }
      }
      var answer: [IdleStatus] = []
      for await status in group { if let status { answer.append(status) } }
      return answer.sorted { $0.account < $1.account }
    }
  }

  /// Stores the idle mode for the next agent. A failure of the store does not prevent the mode from taking effect.
  private func storeIdle(_ change: @escaping @Sendable (inout AccountFile) -> Void) async {
    do throws(Failure) { try await accounts.updateInBackground(change) } catch {
      log.error("store", metadata: ["failure": "\(error.message)"])
    }
  }

  /// Called when the terminal is about to stop the process.
  func stops() async {
    for session in sessions.values {
      guard await session.isBusy, await session.idle == nil else { continue }
      stopped.append(session)
      _ = await session.setIdle(onIdle)
    }
  }

  /// Called when the process continues, after an unknown time.
  func goesOn() async {
    let sessions = stopped
    stopped = []
    for session in sessions { _ = await session.setIdle(nil) }
    await networkChanged(NetworkChange())
  }

  /// Sets the presence. With `hold`, it lasts until ``clientClosed(_:)``.
  func setPresence(_ parameters: PresenceSetMethod.Parameters, client: ClientHandle) async throws(Failure)
    -> PresenceStatus
  {
    let session = try await storedSession(parameters.account)
    if parameters.hold { holds[client, default: []].insert(session.account) }
    return try await session.perform { session throws(Failure) in
      try await session.presence.set(parameters, by: client)
    }
  }

  func removeAccount(_ parameters: AccountRemoveMethod.Parameters) async throws(Failure) {
    let session = try await storedSession(parameters.account)
    var logout = LogoutMethod.Parameters(account: parameters.account)
    logout.forget = true
    // Queued messages would keep the account.
    logout.force = true
    _ = try await session.logout(logout)
  }

  func changePassword(_ parameters: AccountPasswdMethod.Parameters) async throws(Failure)
    -> AccountPasswdMethod.Result
  {
    try await namedSession(parameters.account).changePassword(parameters)
  }

  func deleteAccount(_ parameters: AccountDeleteMethod.Parameters) async throws(Failure)
    -> AccountDeleteMethod.Result
  {
    let session = try await namedSession(parameters.account)
    try await session.delete(parameters)
    return AccountDeleteMethod.Result(account: session.account.description)
  }

  /// - Parameter clients: the number of connected clients, the asking one included.
  func agentStatus(clients: Int) async -> AgentStatusMethod.Result {
    let count = (try? await loaded().get())?.accounts.count ?? sessions.count
    var online = 0
    for session in sessions.values where await session.isOnline { online += 1 }
    var status = AgentStatusMethod.Result(
      version: Version.current, pid: Int(getpid()), started: started, accounts: count,
      online: online, clients: clients)
    if isService { status.service = true }
    status.accountsError = onDisk.failure
    status.damagedStore = localStore.movedAside
    status.warnings = await warnings()
    return status
  }

  func stop() async {
    await closeAll()
    await onStop()
  }

  /// Called when an address or a route of this machine has changed, or the machine has slept.
  func networkChanged(_ change: NetworkChange) async {
    log.info("network changed", metadata: ["interface": "\(change.interface ?? "-")"])
    await withDiscardingTaskGroup { group in
      for session in sessions.values { group.addTask { await session.networkChanged(change) } }
    }
  }

  /// Ends every session politely; the stored data stays.
  func closeAll() async {
    if !isEnding { onEnding() }
    isEnding = true
    await withTaskGroup { group in
      for session in sessions.values { group.addTask { await session.close() } }
    }
  }

  /// Called when the connection of a client has ended.
  func clientClosed(_ client: ClientHandle) async {
    for account in holds.removeValue(forKey: client) ?? [] {
      await sessions[account]?.perform { await $0.presence.release(client) }
    }
  }
}

extension StatusMethod.Parameters {
  /// The time limit for answers of a server.
  fileprivate var bound: TimeAmount { .nanoseconds(Int64(timeout * 1e9)) }
}
