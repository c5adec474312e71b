import AgentProtocol
import ArgumentParser
import Terminal

/// `imctl account passwd`: changes the password at the server.
struct AccountPasswdCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "passwd",
    abstract: "Change the account's password, at the server and in what is stored.",
    discussion: """
      The new password comes from --new-password-stdin, --new-password-command, or is asked for twice on a \
      terminal. An account that is online needs no other; else the current one is what is stored, or comes from \
      --password-stdin, --password-command or a prompt, and is verified with the server. With both on standard \
      input, the current one is its first line and the new one its second. A session goes on, or comes back.
      """)

  struct Answer: Encodable {
    let account: String
    let changed = true
  }

  @Argument(
    help: ArgumentHelp("The account; without it the default account.", valueName: "JID"),
    completion: .accounts)
  var jid: String?

  @Flag(help: "Read the new password from standard input: a line.")
  var newPasswordStdin = false

  @Option(help: ArgumentHelp("Run this, and take the first line it prints.", valueName: "command"))
  var newPasswordCommand: String?

  @OptionGroup(title: "Current password") var password: PasswordOptions
  @OptionGroup(title: "Connection") var connection: ConnectionArguments
  @OptionGroup var account: AccountOption
  @OptionGroup var output: OutputOptions

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Bound of the whole command, 0 for none.", valueName: "seconds"))
  var timeout = Timeout(seconds: 60)

  func validate() throws {
    try AccountAtServerArguments.check(jid, account)
    if newPasswordStdin && newPasswordCommand != nil {
      throw ValidationError(
        inLanguage(
          "--new-password-stdin and --new-password-command exclude each other.",
          "--new-password-stdin 和 --new-password-command 不能同时使用。"))
    }
  }

  func run() throws {
    Interrupt.install()
    let deadline = Deadline(timeout)
    let target = try AccountAtServerArguments(jid ?? account.account, connection, output, until: deadline)
    let current = try target.password(password, until: deadline)
    let new = try newPassword(for: target.account, until: deadline)
    var parameters = AccountPasswdMethod.Parameters(account: target.account, newPassword: new)
    parameters.newPasswordCommand = newPasswordCommand
    parameters.currentPassword = current
    parameters.options = target.options
    parameters.timeout = deadline.secondsLeft ?? 0
    let result = try target.answer(to: AccountPasswdMethod.self, parameters, until: deadline)
    try output.data(Answer(account: result.account), text: "\(peer: result.account) password changed")
    if result.usesCommand {
      output.note(
        inLanguage(
          "the stored --password-command has to print the new password from now on",
          "已存储的 --password-command 今后必须输出新密码"))
    }
  }

  private func newPassword(for account: String, until deadline: Deadline) throws -> String {
    if let newPasswordCommand { return try CredentialSource.run(newPasswordCommand, until: deadline) }
    if newPasswordStdin { return try PasswordOptions.standardInput(until: deadline) }
    return try PasswordOptions.askTwice(
      inLanguage("New password for ", "新密码 ") + "\(peer: account): ",
      options: "--new-password-stdin, --new-password-command", until: deadline)
  }
}
