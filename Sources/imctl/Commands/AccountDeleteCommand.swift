import AgentProtocol
import ArgumentParser
import Terminal

/// `imctl account delete`: deletes the account at the server.
struct AccountDeleteCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete",
    abstract: "Delete the account at its server, for ever, and what is stored of it.",
    discussion: """
      Asks first, on a terminal; elsewhere it needs --yes. An account that is online needs no password; else it \
      is what is stored, or comes from --password-stdin, --password-command or a prompt. `account remove` \
      deletes only what is stored here.
      """)

  struct Answer: Encodable {
    let account: String
    let deleted = true
  }

  @Argument(
    help: ArgumentHelp("The account; without it the default account.", valueName: "JID"),
    completion: .accounts)
  var jid: String?

  @Flag(help: "Do not ask.")
  var yes = false

  @OptionGroup(title: "Secret") var password: PasswordOptions
  @OptionGroup(title: "Connection") var connection: ConnectionArguments
  @OptionGroup var account: AccountOption
  @OptionGroup var output: OutputOptions

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Bound of the whole command, 0 for none.", valueName: "seconds"))
  var timeout = Timeout(seconds: 60)

  func validate() throws { try AccountAtServerArguments.check(jid, account) }

  func run() throws {
    Interrupt.install()
    let deadline = Deadline(timeout)
    let target = try AccountAtServerArguments(jid ?? account.account, connection, output, until: deadline)
    try confirm(target.account, until: deadline)
    let current = try target.password(password, until: deadline)
    var parameters = AccountDeleteMethod.Parameters(account: target.account)
    parameters.currentPassword = current
    parameters.options = target.options
    parameters.timeout = deadline.secondsLeft ?? 0
    let deleted = try target.answer(to: AccountDeleteMethod.self, parameters, until: deadline).account
    try output.data(Answer(account: deleted), text: "\(peer: deleted) deleted")
  }

  private func confirm(_ account: String, until deadline: Deadline) throws {
    if yes { return }
    guard Prompt.isPossible else {
      throw Failure.invalid(.usage(.nobodyToAsk))
    }
    let question = inLanguage(
      "Delete \(account) at its server, for ever? [y/N] ", "在服务器上永久删除 \(account)？[y/N] ")
    let answer = try Prompt.line("\(peer: question)", until: deadline)?.lowercased()
    guard answer == "y" || answer == "yes" else { throw Failure.cancelled() }
  }
}
