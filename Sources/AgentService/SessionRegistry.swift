import AgentLogin
import AgentProtocol
import AgentSession
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
  /// What the sessions are made with.
  let resources: SessionResources
  let started = Timestamp.now()
  /// The idle mode where the caller of ``AgentIdleMethod`` names none.
  let onIdle: IdleMode
  let isService: Bool
  private let onEnding: @Sendable () -> Void
  private let onStop: @Sendable () async -> Void
  private(set) var sessions: [JID: Session] = [:]
  /// The accounts whose presence a client holds.
  private var holds: [ClientHandle: Set<JID>] = [:]
  /// Sessions that are idle because the process was stopped.
  var stopped: [Session] = []
  /// Whether the agent is about to exit, so that no account logs in automatically.
  private(set) var isEnding = false

  /// - Parameters:
  ///   - accounts: the stored accounts, whose store is that of the sessions.
  ///   - isService: whether a service manager has started the agent.
  ///   - onEnding: called once, when the sessions begin to end with the agent.
  ///   - onStop: called when `agent.stop` has closed the sessions.
  init(
    _ resources: SessionResources, accounts: AccountsOnDisk, onIdle: IdleMode = .csi,
    isService: Bool = false, onEnding: @escaping @Sendable () -> Void = {},
    onStop: @escaping @Sendable () async -> Void
  ) {
    self.resources = resources
    onDisk = accounts
    self.onIdle = onIdle
    self.isService = isService
    self.onEnding = onEnding
    self.onStop = onStop
  }

  var hub: any EventPublisher { resources.hub }
  var localStore: LocalStore { resources.localStore }
  var log: Logger { resources.log }

  // MARK: Accounts

  private func session(of account: JID) async throws(Failure) -> Session {
    if let session = sessions[account] { return session }
    let file = try await loaded().get()
    let stored = file[account.description]
    // Another call may have created the session meanwhile.
    if let session = sessions[account] { return session }
    let session = Session(of: account, resources)
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
  func loaded() async -> Result<AccountFile, Failure> {
    do throws(Failure) { return .success(try await onDisk.load()) } catch { return .failure(error) }
  }

  /// The session of the named account, which need not be stored, or of the default account.
  private func namedSession(_ name: String?) async throws(Failure) -> Session {
    guard let name else { return try await storedSession(nil) }
    return try await session(of: try JID(given: name).bare)
  }

  /// The active session of an account that is not stored: an anonymous login, or a first login in the background.
  /// Without a name and a default account, the only such session.
  func unstored(_ name: String?, beside file: Result<AccountFile, Failure>) async -> Session? {
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
      resources.pace.join(account.account, at: account.options.serverName(of: account.domain))
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
            log.error(
              "a change of the stored account could not be applied",
              metadata: ["account": "\(jid)", "failure": "\(error.message)"])
          }
        }
      }
    }
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

  /// Sets the presence. With `hold`, it lasts until ``clientClosed(_:)``.
  func setPresence(_ parameters: PresenceSetMethod.Parameters, client: ClientHandle) async throws(Failure)
    -> PresenceStatus
  {
    let session = try await storedSession(parameters.account)
    if parameters.hold { holds[client, default: []].insert(session.account) }
    return try await session.perform { session throws(Failure) in
      try await session.presence.set(parameters, by: client.id)
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
      await sessions[account]?.perform { await $0.presence.release(client.id) }
    }
  }
}
