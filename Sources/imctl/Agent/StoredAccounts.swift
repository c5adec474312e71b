import Agent
import AgentProtocol
import FoundationEssentials

/// What commands do with `accounts.json` themselves: where no agent runs, and where none is needed.
enum StoredAccounts {
  static func store() throws -> AccountStore {
    AccountStore(directory: try AgentPaths.current().configuration) { repair in
      Console.err("imctl: \(peer: repair.localized(.current))")
    }
  }

  static func load() throws -> AccountFile { try store().load() }

  /// The last state that is stored: `kicked` or `loginFailed` with its cause, else `offline`.
  static func status(account: String?, all: Bool) throws -> [SessionStatus] {
    let file = try load()
    return all ? file.accounts.map(status) : [status(try file.account(account))]
  }

  /// The desired presence; not applied, since nobody is online.
  static func presence(account: String?) throws -> PresenceStatus { presence(try load().account(account)) }

  /// Logs out accounts whose session has ended already with the agent.
  static func logout(_ parameters: LogoutMethod.Parameters) throws -> [String] {
    try store().update { file throws(Failure) in
      let named = parameters.all ? file.accounts : [try file.account(parameters.account)]
      let ended = named.filter { $0.isLogin || parameters.forget }
      if file.accounts.isEmpty { throw Failure(.notInitialized, stage: .store) }
      if ended.isEmpty { throw Failure(.notLoggedIn, stage: .request, detail: named.first?.account) }
      for var account in ended {
        account.loggedOut()
        file[account.account] = parameters.forget ? nil : account
      }
      return ended.map(\.account)
    }
  }

  /// The JID of the last login.
  static func last() throws -> String? {
    let file = try load()
    return file.last ?? file.default
  }

  /// Something is stored that the agent can log in with.
  static func hasSecret(_ account: String) throws -> Bool {
    try load()[BareJID.normalise(account)]?.hasCredential ?? false
  }

  private static func status(_ account: Account) -> SessionStatus {
    let last = account.lastState.flatMap { [.kicked, .loginFailed].contains($0.state) ? $0 : nil }
    var status = SessionStatus(account: account.account, state: last?.state ?? .offline)
    status.since = account.lastState?.time
    status.cause = last?.cause
    status.presence = presence(account)
    return status
  }

  private static func presence(_ account: Account) -> PresenceStatus {
    let desired = account.presence ?? DesiredPresence(show: .online)
    if let before = desired.before, let until = desired.until.flatMap(Timestamp.date), until <= Date() {
      return PresenceStatus(
        show: before.show, status: before.status, priority: before.priority, applied: false)
    }
    return PresenceStatus(
      show: desired.show, status: desired.status, priority: desired.priority, applied: false)
  }
}
