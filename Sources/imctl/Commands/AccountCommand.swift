import AgentProtocol
import AgentStore
import ArgumentParser

/// `imctl account`: what is stored in `accounts.json`. Secrets are never printed.
struct AccountCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "account",
    abstract: "The accounts that are stored, and accounts at their servers.",
    subcommands: [
      AccountListCommand.self, AccountUseCommand.self, AccountLastCommand.self, AccountRemoveCommand.self,
      AccountImportCommand.self, AccountRegisterCommand.self, AccountPasswdCommand.self,
      AccountDeleteCommand.self, AccountTrustCommand.self,
    ])

  /// What a command waits for that is not answered in time.
  static var store: String { inLanguage("the local store", "本地存储") }
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

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Bound of the whole command, 0 for none.", valueName: "seconds"))
  var timeout = Timeout.ofRequest

  func run() throws {
    Deadline(timeout).endProcess(waitingFor: AccountCommand.store, json: output.json)
    let file = try StoredAccounts.load()
    AgentStart.remarkOnCrash()
    for account in file.accounts {
      let line = AccountLine(account, in: file)
      try output.data(line, text: line.text)
    }
    if file.accounts.isEmpty {
      output.empty(inLanguage("no account is stored: imctl login JID", "没有存储任何账号：imctl login JID"))
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

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Bound of the whole command, 0 for none.", valueName: "seconds"))
  var timeout = Timeout.ofRequest

  func run() throws {
    Deadline(timeout).endProcess(waitingFor: AccountCommand.store, json: output.json)
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

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Bound of the whole command, 0 for none.", valueName: "seconds"))
  var timeout = Timeout.ofRequest

  func run() throws {
    Deadline(timeout).endProcess(waitingFor: AccountCommand.store, json: output.json)
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

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Bound of the whole command, 0 for none.", valueName: "seconds"))
  var timeout = Timeout(seconds: 20)

  struct Answer: Encodable {
    let account: String
    let removed = true
  }

  func run() throws {
    let deadline = Deadline(timeout)
    let removed = try AgentClient.session(start: .never, until: deadline) {
      try $0.answer(to: $0.send(AccountRemoveMethod.self, .init(account: jid)))
    }
    if removed == nil {
      deadline.endProcess(waitingFor: AccountCommand.store, json: output.json)
      try StoredAccounts.store().update { file throws(Failure) in
        file[try file.account(jid).account] = nil
      }
      try StoredAccounts.forgetMessages(jid)
    }
    if output.json { try output.data(Answer(account: try BareJID.normalise(jid)), text: "") }
  }
}
