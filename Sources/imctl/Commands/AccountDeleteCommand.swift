import AgentProtocol
import ArgumentParser
import Terminal

/// `imctl account delete`: deletes the account at the server.
struct AccountDeleteCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete",
    abstract: "Permanently delete an account on its server.",
    discussion: """
      Also deletes everything that is stored for the account on this machine. To delete only the stored data, use \
      `imctl account remove`.

      On a terminal, the command asks for confirmation; elsewhere, it requires --yes. No password is needed if the \
      account is online. Otherwise, the password is the stored one, or comes from --password-stdin, --password-command \
      or a prompt.
      """)

  struct Answer: Encodable {
    let account: String
    let deleted = true
  }

  @Argument(
    help: ArgumentHelp("The account. If omitted, the default account is used.", valueName: "JID"),
    completion: .accounts)
  var jid: String?

  @Flag(help: "Do not ask for confirmation.")
  var yes = false

  @OptionGroup(title: "Password") var password: PasswordOptions
  @OptionGroup(title: "Connection") var connection: ConnectionArguments
  @OptionGroup var account: AccountOption
  @OptionGroup var output: OutputOptions

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Stop after this many seconds (0: never).", valueName: "seconds"))
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
      "Permanently delete \(account) on its server? [y/N] ", "在服务器上永久删除 \(account)？[y/N] ")
    let answer = try Prompt.line("\(peer: question)", until: deadline)?.lowercased()
    guard answer == "y" || answer == "yes" else { throw Failure.cancelled() }
  }
}
