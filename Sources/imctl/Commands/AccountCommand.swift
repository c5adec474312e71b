import Agent
import AgentProtocol
import ArgumentParser

/// `imctl account`: what is stored in `accounts.json`. Secrets are never printed.
struct AccountCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "account",
    abstract: "The accounts that are stored.",
    subcommands: [
      AccountListCommand.self, AccountUseCommand.self, AccountLastCommand.self, AccountRemoveCommand.self,
    ])
}

/// An account as `account list --json` prints it.
struct AccountLine: Encodable {
  let account: String
  let domain: String
  let `default`: Bool
  /// Logged in, and logged in again by the agent when it starts.
  let isLogin: Bool
  let store: StorePolicy

  init(_ account: Account, in file: AccountFile) {
    self.account = account.account
    domain = account.domain
    self.default = file.default == account.account
    isLogin = account.isLogin
    store = account.store
  }

  /// The default account has a star in front.
  var text: String { "\(self.default ? "*" : " ") \(peer: account)" + (isLogin ? " (logged in)" : "") }
}

/// `imctl account list`.
struct AccountListCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List the accounts; the default one has a star.")

  @OptionGroup var output: OutputOptions

  func run() throws {
    let file = try StoredAccounts.load()
    for account in file.accounts {
      let line = AccountLine(account, in: file)
      try output.data(line, text: line.text)
    }
  }
}

/// `imctl account use`.
struct AccountUseCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "use",
    abstract: "Make an account the default one.")

  @Argument(help: ArgumentHelp("The account.", valueName: "JID"))
  var jid: String

  @OptionGroup var output: OutputOptions

  func run() throws {
    try StoredAccounts.store().update { file throws(Failure) in try file.use(jid) }
    if output.json {
      let file = try StoredAccounts.load()
      try output.data(AccountLine(file.account(nil), in: file), text: "")
    }
  }
}

/// `imctl account last`.
struct AccountLastCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "last",
    abstract: "Print the JID of the last login, which the next one proposes.")

  struct Answer: Encodable {
    let account: String
  }

  @OptionGroup var output: OutputOptions

  func run() throws {
    guard let last = try StoredAccounts.last() else { throw Failure(.notInitialized, stage: .store) }
    try output.data(Answer(account: last), text: "\(peer: last)")
  }
}

/// `imctl account remove`.
struct AccountRemoveCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove",
    abstract: "End the account's session, and delete what is stored of it.")

  @Argument(help: ArgumentHelp("The account.", valueName: "JID"))
  var jid: String

  @OptionGroup var output: OutputOptions

  @Option(help: ArgumentHelp("Bound of the whole command, 0 for none.", valueName: "seconds"))
  var timeout = Timeout(seconds: 20)

  func run() throws {
    let removed = try AgentClient.ask(
      AccountRemoveMethod.self, .init(account: jid), start: .never, timeout: timeout)
    if removed != nil { return }
    try StoredAccounts.store().update { file throws(Failure) in
      file[try file.account(jid).account] = nil
    }
  }
}
