import AgentErrand
import AgentLogin
import AgentProtocol
import AgentStore
import AgentSystem
import FoundationEssentials
import XMPPStanza

/// The stored accounts and their messages, for commands that need no running agent.
struct StoredAccounts: Sendable {
  let paths: AgentPaths
  let store: AccountStore

  /// - Parameter onRepair: called with a description of each repair, in the language of this process.
  init(_ paths: AgentPaths, onRepair: @escaping @Sendable (String) -> Void) {
    self.paths = paths
    store = AccountStore(directory: paths.configuration) { onRepair($0.localized(.current)) }
  }

  func load() throws(Failure) -> AccountFile { try store.load() }

  /// The bare JID of the named account, or of the default account.
  func name(_ account: String?) throws(Failure) -> String {
    if let account { return try BareJID.normalise(account) }
    return try load().account(nil).account
  }

  /// The last stored state: `kicked` or `loginFailed` with its cause, otherwise `offline`; and the number of queued
  /// messages.
  func status(account: String?, all: Bool) throws -> [SessionStatus] {
    let file = try load()
    let sessions = try (all ? file.accounts : [file.account(account)]).map(SessionStatus.init(stored:))
    return try LocalStore.countQueued(sessions, at: paths.database)
  }

  /// The desired presence; `applied` is false, because no session is online.
  func presence(account: String?) throws -> PresenceStatus {
    PresenceStatus(stored: try load().account(account))
  }

  /// Logs out accounts that have no session in an agent; with `all`, there may be no account.
  ///
  /// Messages stay queued unless they are to be dropped. An account with queued messages stays stored, and so does an
  /// account whose token the server could not revoke.
  func logout(_ parameters: LogoutMethod.Parameters) async throws -> LogoutMethod.Result {
    let ended: [Account] = try store.update { file throws(Failure) in
      let named = parameters.all ? file.accounts : [try file.account(parameters.account)]
      let ended = named.filter { $0.isLogin || parameters.forget }
      if ended.isEmpty && !parameters.all {
        throw Failure(.notLoggedIn, stage: .request, detail: (named.first?.account).map(FailureDetail.text))
      }
      for var account in ended {
        account.loggedOut(parameters)
        file[account.account] = account
      }
      return ended
    }
    let queued = try LocalStore.queued(
      of: ended.map(\.account), dropping: parameters.force, at: paths.database)
    var result = LogoutMethod.Result(
      accounts: ended.map(\.account), unsent: queued.values.reduce(0, +))
    var forgotten: [String] = []
    for account in ended {
      do throws(Failure) {
        if parameters.revoke { try await revoke(account, timeout: max(parameters.flush, 10)) }
        if parameters.forget, queued[account.account] == nil { forgotten.append(account.account) }
      } catch {
        result.unrevoked = result.unrevoked ?? error
      }
    }
    let left = try load()
    let kept = ended.filter { !forgotten.contains($0.account) }.compactMap { account in
      left[account.account]?.keptSecret.map { (account.account, $0) }
    }
    if !kept.isEmpty { result.kept = Dictionary(kept) { one, _ in one } }
    if forgotten.isEmpty { return result }
    try store.update { file throws(Failure) in
      for account in forgotten { file[account] = nil }
    }
    for account in forgotten { try forgetMessages(account) }
    return result
  }

  /// The given IDs for which messages were accepted.
  func accepted(_ ids: [String], account: String?) throws -> [String] {
    let account = try name(account)
    return try LocalStore.accepted(ids, of: account, at: paths.database)
  }

  // MARK: Stored contacts

  func contacts(_ account: String?, after jid: String?) throws -> ContactsListMethod.Result {
    try StoredContacts.list(
      load().account(account).account, after: jid, limit: 1000, at: paths.database)
  }

  func requests(_ account: String?) throws -> ContactRequestsMethod.Result {
    try StoredContacts.requests(load().account(account).account, at: paths.database)
  }

  func blocked(_ account: String?) throws -> ContactsBlockedMethod.Result {
    try StoredContacts.blocked(load().account(account).account, at: paths.database)
  }

  /// Finds the JIDs for the names by which a user calls recipients.
  func resolve(_ words: [String], account: String?) throws -> [String] {
    let known = words.compactMap(RecipientsResolveMethod.jid)
    if known.count == words.count { return known }
    let account = try name(account)
    let names = try KnownNames(of: account, at: paths.database)
    return try words.map { try names.jid($0) }
  }

  /// The appearances of an account's contacts and rooms.
  func appearances(_ account: String?) throws -> KnownAppearances {
    KnownAppearances(try KnownNames(of: try name(account), at: paths.database))
  }

  /// Deletes the stored messages of an account.
  func forgetMessages(_ account: String) throws {
    try LocalStore.forget(BareJID.normalise(account), at: paths.database)
  }

  /// Revokes the server's token for this device and forgets it, where no agent is running. Returns false if there is no
  /// token.
  @discardableResult
  func revoke(_ account: Account, timeout: Double) async throws(Failure) -> Bool {
    let revoked = try await TokenRevocation.revoke(account, timeout: timeout)
    try store.update { file throws(Failure) in file[account.account]?.forgetDeviceToken() }
    return revoked
  }
}
