import AgentProtocol
import ArgumentParser
import Terminal

/// `imctl account`: the accounts in `accounts.json`, and accounts at their servers. Secrets are never printed.
struct AccountCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "account",
    abstract: "Manage stored accounts, and accounts on their servers.",
    subcommands: [
      AccountListCommand.self, AccountUseCommand.self, AccountLastCommand.self, AccountRemoveCommand.self,
      AccountImportCommand.self, AccountRegisterCommand.self, AccountPasswdCommand.self,
      AccountDeleteCommand.self, AccountTrustCommand.self,
    ])

  /// What a command waits for if the answer is late.
  static let store = FailureDetail.usage(.localStore)
}

/// `imctl account list`.
struct AccountListCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List the stored accounts; a star marks the default account.")

  @OptionGroup var output: OutputOptions

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Stop after this many seconds (0: never).", valueName: "seconds"))
  var timeout = Timeout.ofRequest

  func run() throws {
    let accounts = try OneTimeAgent.ask(AccountListMethod.self, EmptyObject(), until: Deadline(timeout))
    AgentStart.remarkOnCrash()
    try output.list(
      accounts, [.init(inLanguage("ACCOUNT", "账号")), .init(""), .init(inLanguage("STATE", "状态"))]
    ) { account in
      [
        TextTable.Cell("\(peer: account.account)", account.default ? .bold : .plain),
        TextTable.Cell(account.default ? inLanguage("default", "默认") : ""),
        TextTable.Cell(account.isLogin ? inLanguage("logged in", "已登录") : ""),
      ]
    }
    if accounts.isEmpty {
      output.empty(inLanguage("no account is stored: imctl login JID", "没有存储任何账号：imctl login JID"))
    }
  }
}

/// `imctl account use`.
struct AccountUseCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "use",
    abstract: "Make an account the default account.")

  @Argument(help: ArgumentHelp("The account.", valueName: "JID"), completion: .accounts)
  var jid: String

  @OptionGroup var output: OutputOptions

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Stop after this many seconds (0: never).", valueName: "seconds"))
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
    abstract: "Print the JID of the last login or registration.")

  struct Answer: Encodable {
    let account: String
  }

  @OptionGroup var output: OutputOptions

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Stop after this many seconds (0: never).", valueName: "seconds"))
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
    abstract: "End an account's session and delete its stored data.")

  @Argument(help: ArgumentHelp("The account.", valueName: "JID"), completion: .accounts)
  var jid: String

  @OptionGroup var output: OutputOptions

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Stop after this many seconds (0: never).", valueName: "seconds"))
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
