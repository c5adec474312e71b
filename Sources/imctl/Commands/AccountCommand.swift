import AgentProtocol
import ArgumentParser
import Terminal

/// `imctl account`: the accounts in `accounts.json`, and accounts at their servers. Secrets are never printed.
struct AccountCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "account",
    abstract: "The accounts that are stored, and accounts at their servers.",
    subcommands: [
      AccountListCommand.self, AccountUseCommand.self, AccountLastCommand.self, AccountRemoveCommand.self,
      AccountImportCommand.self, AccountRegisterCommand.self, AccountPasswdCommand.self,
      AccountDeleteCommand.self, AccountTrustCommand.self,
    ])

  /// What a command waits for if the answer is late.
  static let store = FailureDetail.usage(.localStore)
}

extension AccountSummary {
  /// The line of a list, where a star marks the default account.
  fileprivate var text: String {
    "\(self.default ? "*" : " ") \(peer: account)" + (isLogin ? " (logged in)" : "")
  }
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
    let accounts = try OneTimeAgent.ask(AccountListMethod.self, EmptyObject(), until: Deadline(timeout))
    AgentStart.remarkOnCrash()
    for account in accounts { try output.data(account, text: account.text) }
    if accounts.isEmpty {
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
    let account = try OneTimeAgent.ask(AccountUseMethod.self, .init(account: jid), until: Deadline(timeout))
    if output.json { try output.data(account, text: "") }
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
    let answer = try OneTimeAgent.ask(AccountLastMethod.self, EmptyObject(), until: Deadline(timeout))
    guard let last = answer.account else { throw Failure(.notInitialized, stage: .store) }
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
    _ = try AgentClient.answer(to: AccountRemoveMethod.self, .init(account: jid), until: deadline)
    if output.json {
      let named = try OneTimeAgent.ask(AccountResolveMethod.self, .init(account: jid), until: deadline)
      try output.data(Answer(account: named.account), text: "")
    }
  }
}
