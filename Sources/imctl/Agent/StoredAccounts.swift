import Agent
import AgentProtocol

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
    return try (all ? file.accounts : [file.account(account)]).map(SessionStatus.init(stored:))
  }

  /// The desired presence; not applied, since nobody is online.
  static func presence(account: String?) throws -> PresenceStatus {
    PresenceStatus(stored: try load().account(account))
  }

  /// Logs out accounts whose session has ended already with the agent; of all, there may be none.
  static func logout(_ parameters: LogoutMethod.Parameters) throws -> [String] {
    try store().update { file throws(Failure) in
      let named = parameters.all ? file.accounts : [try file.account(parameters.account)]
      let ended = named.filter { $0.isLogin || parameters.forget }
      if ended.isEmpty && !parameters.all {
        throw Failure(.notLoggedIn, stage: .request, detail: named.first?.account)
      }
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
}
