import AgentProtocol

/// The contents of `accounts.json`: `{"version":1,"default":JID,"last":JID,"accounts":[…]}`.
package struct AccountFile: Sendable, Equatable {
  /// The version that this program writes; a greater one is refused.
  package static let version = 1

  package private(set) var accounts: [Account] = []
  /// The bare JID of the account for commands without `--account`.
  package private(set) var `default`: String?
  /// The bare JID of the last attempted login, which the next login proposes.
  package var last: String?
  /// The idle mode of newly stored accounts; see ``Account/idle``.
  package var idle: IdleMode?
  package var others: [String: JSONValue] = [:]

  package init() {}

  /// The account with a normalised bare JID. The first account added becomes the default.
  package subscript(_ bareJID: String) -> Account? {
    get { accounts.first { $0.account == bareJID } }
    set {
      let index = accounts.firstIndex { $0.account == bareJID }
      switch (index, newValue) {
      case (let index?, let account?): accounts[index] = account
      case (nil, let account?):
        accounts.append(account)
        if self.default == nil { self.default = account.account }
      case (let index?, nil):
        accounts.remove(at: index)
        if self.default == bareJID { self.default = accounts.count == 1 ? accounts.first?.account : nil }
        if last == bareJID { last = nil }
      case (nil, nil): break
      }
    }
  }

  /// The stored account that `spelling` names, or the default one.
  ///
  /// Throws `invalidParameter` for an invalid JID, `notInitialized` where no account was ever stored, and `notLoggedIn`
  /// where this account is not stored or no account is the default.
  package func account(_ spelling: String?) throws(Failure) -> Account {
    let name =
      try spelling.map { spelling throws(Failure) in try BareJID.normalise(spelling) } ?? self.default
    if accounts.isEmpty { throw Failure(.notInitialized, stage: .store) }
    guard let name, let account = self[name] else {
      throw Failure(.notLoggedIn, stage: .store, detail: name.map(FailureDetail.text))
    }
    return account
  }

  /// Throws where an account may not log in without the user's confirmation.
  ///
  /// - Parameter account: normalised bare JID.
  ///
  /// Throws `notInitialized` where no account was ever stored, `firstLoginNeedsNetwork` for an account that is not
  /// stored, and the errors of ``Account/allowAuto(forced:)``.
  package func allowAuto(_ account: String, forced: Bool) throws(Failure) {
    if accounts.isEmpty { throw Failure(.notInitialized, stage: .store) }
    guard let stored = self[account] else {
      throw Failure(.firstLoginNeedsNetwork, stage: .store, detail: .text(account))
    }
    try stored.allowAuto(forced: forced)
  }

  /// Makes a stored account the default.
  package mutating func use(_ spelling: String) throws(Failure) {
    self.default = try account(spelling).account
  }
}

extension AccountFile: Codable {
  /// The file was written by a later version, in which its contents may have another meaning.
  struct LaterVersion: Error {}

  private enum Key: String, CodingKey, CaseIterable { case version, `default`, last, idle, accounts }

  /// If two spellings of one JID occur, the first entry counts.
  package init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: Key.self)
    let version = try fields.decode(Int.self, forKey: .version)
    guard version <= Self.version else { throw LaterVersion() }
    for account in try fields.decodeIfPresent([Account].self, forKey: .accounts) ?? []
    where self[account.account] == nil {
      self[account.account] = account
    }
    func name(_ key: Key) throws -> String? {
      try fields.decodeIfPresent(String.self, forKey: key).flatMap { try? BareJID.normalise($0) }
    }
    self.default = try name(.default).flatMap { self[$0]?.account }
    last = try name(.last)
    idle = try? fields.decodeIfPresent(IdleMode.self, forKey: .idle)
    others = try decoder.otherFields(than: Key.allCases)
  }

  package func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: Key.self)
    try fields.encode(Self.version, forKey: .version)
    try fields.encodeIfPresent(self.default, forKey: .default)
    try fields.encodeIfPresent(last, forKey: .last)
    try fields.encodeIfPresent(idle, forKey: .idle)
    try fields.encode(accounts, forKey: .accounts)
    try encoder.encode(otherFields: others)
  }
}
