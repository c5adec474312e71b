import AgentErrand
import AgentProtocol
import AgentStore
import FoundationEssentials

// The parts of the commands `account`, `token` and `devices` that need no session.

extension StoredAccounts {
  func list() throws(Failure) -> [AccountSummary] {
    let file = try load()
    return file.accounts.map { AccountSummary($0, in: file) }
  }

  func use(_ account: String) throws(Failure) -> AccountSummary {
    try store.update { file throws(Failure) in
      try file.use(account)
      return AccountSummary(try file.account(nil), in: file)
    }
  }

  /// The account that logged in last, or the default account.
  func last() throws(Failure) -> String? {
    let file = try load()
    return file.last ?? file.default
  }

  func resolve(_ parameters: AccountResolveMethod.Parameters) throws(Failure) -> AccountResolveMethod.Result {
    let account: Account?
    var name = parameters.account
    if let address = name, let domain = parameters.domain {
      name = try BareJID.ofEmail(address, at: domain)
    }
    if parameters.isStored || name == nil {
      account = try load().account(name)
    } else {
      name = try name.map { name throws(Failure) in try BareJID.normalise(name) }
      account = try load()[name ?? ""]
    }
    guard let account else { return .init(account: name ?? "") }
    let kind = account.credential.kind
    return .init(
      account: account.account, isLogin: account.isLogin, kind: kind,
      hasSecret: account.hasCredential && parameters.kind ?? kind == kind,
      hasPassword: account.password != nil || account.passwordCommand != nil || !account.scramKeys.isEmpty)
  }

  /// Throws where the account may not log in without the user's confirmation.
  func allowAuto(_ account: String?, forced: Bool) throws(Failure) {
    let file = try load()
    guard let account else {
      throw Failure(file.accounts.isEmpty ? .notInitialized : .firstLoginNeedsNetwork, stage: .store)
    }
    try file.allowAuto(BareJID.normalise(account), forced: forced)
  }

  func trust(_ parameters: AccountTrustMethod.Parameters) throws(Failure) -> AccountTrustMethod.Result {
    if !parameters.reset { return .init(try load().account(parameters.account)) }
    return try store.update { file throws(Failure) in
      var account = try file.account(parameters.account)
      account.server = nil
      account.options.certSHA256 = nil
      file[account.account] = account
      return .init(account)
    }
  }

  /// Imports the accounts from another program's file.
  func importAccounts(_ parameters: AccountImportMethod.Parameters) throws(Failure)
    -> AccountImportMethod.Result
  {
    let accounts = try AccountImport(path: parameters.path, name: parameters.name)
    return .init(
      outcomes: try accounts.store(in: store, replaces: parameters.replace),
      isOpenToOthers: accounts.isOpenToOthers)
  }

  func remove(_ account: String) throws {
    try store.update { file throws(Failure) in file[try file.account(account).account] = nil }
    try forgetMessages(account)
  }

  // MARK: Tokens

  /// The tokens of one account, or of all accounts.
  func tokens(of account: String?, all: Bool) throws(Failure) -> [TokenSummary] {
    let file = try load()
    let now = Date().timeIntervalSince1970
    let accounts = all ? file.accounts : [try file.account(account)]
    return accounts.flatMap { StoredToken.all(of: $0, at: now).map(\.summary) }
  }

  /// The token with which the account logs in, in clear text.
  func token(of name: String?) throws(Failure) -> String {
    let account = try load().account(name)
    let tokens = StoredToken.all(of: account, at: Date().timeIntervalSince1970)
    guard let token = tokens.first(where: { !$0.summary.expired }) ?? tokens.first else {
      throw Failure(
        account.isLogin ? .invalidParameter : .notLoggedIn, stage: .store,
        detail: .login(.noTokenStored, account.account))
    }
    if token.summary.expired {
      throw Failure(.tokenExpired, stage: .store, detail: token.summary.expires.map { .login(.expired, $0) })
    }
    return token.secret.value
  }

  // MARK: Devices

  /// Returns this device, renamed where a name is given.
  func ownDevice(of account: String?, name: String?) throws(Failure) -> Device {
    guard let name else { return Device(stored: try load().account(account)) }
    return try store.update { file throws(Failure) in
      var entry = try file.account(account)
      entry.rename(name)
      file[entry.account] = entry
      return Device(stored: entry)
    }
  }

  func devicePolicy(_ change: DevicesPolicyMethod.Parameters) throws(Failure) -> DevicesPolicyMethod.Result {
    func result(_ entry: Account) -> DevicesPolicyMethod.Result {
      .init(entry.devicePolicy ?? DevicePolicy(), published: entry.hasUnpublishedPolicy != true)
    }
    if !change.isChange { return result(try load().account(change.account)) }
    return try store.update { file throws(Failure) in
      var entry = try file.account(change.account)
      entry.change(change)
      file[entry.account] = entry
      return result(entry)
    }
  }
}

extension AccountSummary {
  init(_ account: Account, in file: AccountFile) {
    self.init(
      account: account.account, domain: account.domain, default: file.default == account.account,
      isLogin: account.isLogin, store: account.store)
  }
}

extension AccountTrustMethod.Result {
  init(_ account: Account) {
    self.init(account: account.account)
    host = account.server?.host
    port = account.server?.port
    tls = account.server?.tls
    mechanism = account.server?.mechanism
    certSHA256 = account.options.certSHA256
    caFile = account.options.caFile
    stepByStep = account.server?.isStepByStep
  }
}
