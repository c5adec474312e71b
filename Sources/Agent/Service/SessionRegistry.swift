import AgentLogin
import AgentProtocol
import AgentStore
import AgentSystem
import Glibc
import Logging
import NIOCore
import XMPPStanza

/// The sessions of all accounts, and what clients of the agent may ask of them.
///
/// Knows which account a call means; what is done with it is the session's.
actor SessionRegistry {
  let onDisk: AccountsOnDisk
  private var accounts: AccountStore { onDisk.store }
  let hub: EventHub
  let localStore: LocalStore
  private let log: Logger
  private let language: String
  private let started = Timestamp.now()
  private let pace: ServerPace
  /// What ``AgentIdleMethod`` does where its caller does not say.
  private let onIdle: IdleMode
  private let isService: Bool
  private let onEnding: @Sendable () -> Void
  private let onStop: @Sendable () async -> Void
  private let activity: @Sendable () -> Void
  private(set) var sessions: [JID: Session] = [:]
  /// Whose presence a client holds.
  private var holds: [ClientHandle: Set<JID>] = [:]
  /// Sessions that are idle because the process is stopped.
  private var stopped: [Session] = []
  /// The agent is about to end: nobody is logged in on its own account any more.
  private var isEnding = false

  /// - Parameters:
  ///   - isService: a service manager has started the agent.
  ///   - activity: told when ``isBusy`` may have changed.
  ///   - onEnding: called once, when the sessions begin to end with the agent.
  ///   - onStop: called when the sessions are closed after `agent.stop`.
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
    // Another call may have made it meanwhile.
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

  /// The session of a stored account: the named one, else the default. Who has no name is not stored and has a
  /// session all the same.
  func storedSession(_ name: String?) async throws(Failure) -> Session {
    let file = await loaded()
    if let session = await unstored(name, beside: file) { return session }
    return try await session(of: try JID(given: file.get().account(name).account))
  }

  /// The stored accounts, as they could be read last, or why they never could.
  private func loaded() async -> Result<AccountFile, Failure> {
    do throws(Failure) { return .success(try await onDisk.load()) } catch { return .failure(error) }
  }

  /// The session of an account that need not be stored; of the default one where none is named.
  private func namedSession(_ name: String?) async throws(Failure) -> Session {
    guard let name else { return try await storedSession(nil) }
    return try await session(of: try JID(given: name).bare)
  }

  /// A session in use without a stored account: of nobody in particular, or of a first login in the background.
  /// Where no account is named and none is the default, the only one.
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

  /// Has the sessions follow what somebody else has changed in the stored accounts, side by side. The first time
  /// everything is new: who was logged in when the last agent ended is logged in.
  func reload() async {
    let news = await onDisk.news()
    // How many there are decides how far they spread.
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

  /// For people who look at the service.
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

  /// Whether something is done for an account. Asked often: looks no further than the first.
  var isBusy: Bool {
    get async {
      for session in sessions.values where await session.isBusy { return true }
      return false
    }
  }

  /// Why the session that ended last did so for good; nil where the agent is stopped, or somebody logged out.
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

  /// Whether nothing is done for an account any more.
  func isIdle(_ account: String) async -> Bool {
    guard let jid = try? JID(account), let session = sessions[jid] else { return true }
    return await !session.isBusy
  }

  // MARK: Calls

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

  /// Asks the servers of these accounts, side by side.
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

  /// Whether the user looks away outlives the agent. A store that cannot be written does not keep it from being told.
  private func storeIdle(_ change: @escaping @Sendable (inout AccountFile) -> Void) async {
    do throws(Failure) { try await accounts.updateInBackground(change) } catch {
      log.error("store", metadata: ["failure": "\(error.message)"])
    }
  }

  /// The process is about to be stopped by its terminal.
  func stops() async {
    for session in sessions.values {
      guard await session.isBusy, await session.idle == nil else { continue }
      stopped.append(session)
      _ = await session.setIdle(onIdle)
    }
  }

  /// It goes on, and nobody knows after how long.
  func goesOn() async {
    let sessions = stopped
    stopped = []
    for session in sessions { _ = await session.setIdle(nil) }
    await networkChanged(NetworkChange())
  }

  /// With `hold` the presence lives until ``clientClosed(_:)``.
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
    // What is queued would keep the account.
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

  /// - Parameter clients: connected clients, the asking one included.
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

  /// An address or a route of this machine has changed, or it has slept.
  func networkChanged(_ change: NetworkChange) async {
    log.info("network changed", metadata: ["interface": "\(change.interface ?? "-")"])
    await withDiscardingTaskGroup { group in
      for session in sessions.values { group.addTask { await session.networkChanged(change) } }
    }
  }

  /// Every session says goodbye; what is stored stays.
  func closeAll() async {
    if !isEnding { onEnding() }
    isEnding = true
    await withTaskGroup { group in
      for session in sessions.values { group.addTask { await session.close() } }
    }
  }

  /// The connection has ended.
  func clientClosed(_ client: ClientHandle) async {
    for account in holds.removeValue(forKey: client) ?? [] {
      await sessions[account]?.perform { await $0.presence.release(client) }
    }
  }
}

extension StatusMethod.Parameters {
  /// How long a server has to answer.
  fileprivate var bound: TimeAmount { .nanoseconds(Int64(timeout * 1e9)) }
}
