import AgentLogin
import AgentProtocol
import AgentStore

/// What commands do with `accounts.json` themselves: where no agent runs, and where none is needed.
enum StoredAccounts {
  static func store() throws -> AccountStore {
    AccountStore(directory: try AgentPaths.current().configuration) { repair in
      Imctl.note("\(peer: repair.localized(.current))")
    }
  }

  static func load() throws -> AccountFile { try store().load() }

  /// The last state that is stored: `kicked` or `loginFailed` with its cause, else `offline`; and what is queued.
  static func status(account: String?, all: Bool) throws -> [SessionStatus] {
    let file = try load()
    let sessions = try (all ? file.accounts : [file.account(account)]).map(SessionStatus.init(stored:))
    return try LocalStore.countQueued(sessions, at: AgentPaths.current().database)
  }

  /// The desired presence; not applied, since nobody is online.
  static func presence(account: String?) throws -> PresenceStatus {
    PresenceStatus(stored: try load().account(account))
  }

  /// Logs out accounts whose session has ended already with the agent; of all, there may be none.
  ///
  /// Messages stay queued unless they are to be dropped. An account that has such stays stored, and one whose token
  /// the server could not be made to forget.
  static func logout(_ parameters: LogoutMethod.Parameters) throws -> LogoutMethod.Result {
    let ended: [Account] = try store().update { file throws(Failure) in
      let named = parameters.all ? file.accounts : [try file.account(parameters.account)]
      let ended = named.filter { $0.isLogin || parameters.forget }
      if ended.isEmpty && !parameters.all {
        throw Failure(.notLoggedIn, stage: .request, detail: named.first?.account)
      }
      for var account in ended {
        account.loggedOut(parameters)
        file[account.account] = account
      }
      return ended
    }
    let queued = try LocalStore.queued(
      of: ended.map(\.account), dropping: parameters.force, at: AgentPaths.current().database)
    var result = LogoutMethod.Result(
      accounts: ended.map(\.account), unsent: queued.values.reduce(0, +))
    var forgotten: [String] = []
    for account in ended {
      do {
        if parameters.revoke { try revoke(account, timeout: max(parameters.flush, 10)) }
        if parameters.forget, queued[account.account] == nil { forgotten.append(account.account) }
      } catch let failure as Failure {
        result.unrevoked = result.unrevoked ?? failure
      }
    }
    let left = try load()
    let kept = ended.filter { !forgotten.contains($0.account) }.compactMap { account in
      left[account.account]?.keptSecret.map { (account.account, $0) }
    }
    if !kept.isEmpty { result.kept = Dictionary(kept) { one, _ in one } }
    if forgotten.isEmpty { return result }
    try store().update { file throws(Failure) in
      for account in forgotten { file[account] = nil }
    }
    for account in forgotten { try forgetMessages(account) }
    return result
  }

  /// Those of the ids that messages were accepted under.
  static func accepted(_ ids: [String], account: String?) throws -> [String] {
    let account = try account.map { try BareJID.normalise($0) } ?? load().account(nil).account
    return try LocalStore.accepted(ids, of: account, at: AgentPaths.current().database)
  }

  // MARK: What is kept of contacts

  static func contacts(_ account: String?, after jid: String?) throws -> ContactsListMethod.Result {
    try StoredContacts.list(
      load().account(account).account, after: jid, limit: 50_000, at: AgentPaths.current().database)
  }

  static func requests(_ account: String?) throws -> ContactRequestsMethod.Result {
    try StoredContacts.requests(load().account(account).account, at: AgentPaths.current().database)
  }

  static func blocked(_ account: String?) throws -> ContactsBlockedMethod.Result {
    try StoredContacts.blocked(load().account(account).account, at: AgentPaths.current().database)
  }

  /// Whom the words mean that a user calls recipients by.
  static func resolve(_ words: [String], account: String?) throws -> [String] {
    let known = words.compactMap(RecipientsResolveMethod.jid)
    if known.count == words.count { return known }
    let account = try account.map { try BareJID.normalise($0) } ?? load().account(nil).account
    let names = try KnownNames(of: account, at: AgentPaths.current().database)
    return try words.map { try names.jid($0) }
  }

  /// Deletes what is stored of an account's messages.
  static func forgetMessages(_ account: String) throws {
    try LocalStore.forget(BareJID.normalise(account), at: AgentPaths.current().database)
  }

  /// Has the server forget its token for this device, and forgets it, where no agent runs. False: there is none.
  @discardableResult
  static func revoke(_ account: Account, timeout: Double) throws -> Bool {
    let deadline = Deadline(Timeout(seconds: timeout))
    let revoked = try Foreground.wait(
      until: deadline, else: .timedOut(inLanguage("the server", "服务器")), cancelled: Foreground.mayBeDone
    ) {
      () async throws(Failure) in
      try await TokenRevocation.revoke(account, timeout: timeout)
    }
    try store().update { file throws(Failure) in file[account.account]?.forgetDeviceToken() }
    return revoked
  }

  /// The bare JID of the named account, or of the default one, where it is stored as logged in.
  static func loggedIn(_ account: String?) throws -> String? {
    do {
      let stored = try load().account(account)
      return stored.isLogin ? stored.account : nil
    } catch let failure as Failure where failure.name == .notInitialized || failure.name == .notLoggedIn {
      return nil
    }
  }

  /// The JID of the last login.
  static func last() throws -> String? {
    let file = try load()
    return file.last ?? file.default
  }

  /// Something is stored that the agent can log in with, of the kind if one is named.
  static func hasSecret(_ account: String, of kind: LoginKind? = nil) throws -> Bool {
    guard let stored = try load()[BareJID.normalise(account)] else { return false }
    return stored.hasCredential && kind.map { $0 == stored.credential.kind } ?? true
  }

  /// A password is stored, or what stands for it.
  static func hasPassword(_ account: String) throws -> Bool {
    guard let stored = try load()[BareJID.normalise(account)] else { return false }
    return stored.password != nil || stored.passwordCommand != nil || !stored.scramKeys.isEmpty
  }

  /// How the account logs in, if it is stored.
  static func kind(of account: String) throws -> LoginKind {
    try load()[BareJID.normalise(account)]?.credential.kind ?? .password
  }

  /// Whether the account may be logged in without a question; no agent is started to be told no.
  static func allowAuto(_ account: String?, forced: Bool) throws {
    let file = try load()
    guard let account else {
      throw Failure(file.accounts.isEmpty ? .notInitialized : .firstLoginNeedsNetwork, stage: .store)
    }
    try file.allowAuto(BareJID.normalise(account), forced: forced)
  }
}
