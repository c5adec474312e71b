import AgentProtocol
import ArgumentParser
import Terminal

/// `imctl account passwd`: changes the password at the server.
struct AccountPasswdCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "passwd",
    abstract: "Change the account's password, on the server and in the stored account.",
    discussion: """
      The new password comes from --new-password-stdin or --new-password-command, or from a prompt on a terminal, \
      which asks for it twice.

      If the account is online, the current password is not needed. Otherwise, it is the stored one, or comes from \
      --password-stdin, --password-command or a prompt, and the server verifies it. If both passwords come from \
      standard input, the first line is the current password and the second line is the new one.

      An online session continues, or reconnects if the server ends it.
      """)

  struct Answer: Encodable {
    let account: String
    let changed = true
  }

  @Argument(
    help: ArgumentHelp("The account. If omitted, the default account is used.", valueName: "JID"),
    completion: .accounts)
  var jid: String?

  @Flag(help: "Read the new password from standard input (one line).")
  var newPasswordStdin = false

  @Option(
    help: ArgumentHelp(
      "Run this command and use its first line of output as the new password.", valueName: "command"))
  var newPasswordCommand: String?

  @OptionGroup(title: "Current password") var password: PasswordOptions
  @OptionGroup(title: "Connection") var connection: ConnectionArguments
  @OptionGroup var account: AccountOption
  @OptionGroup var output: OutputOptions

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Stop after this many seconds (0: never).", valueName: "seconds"))
  var timeout = Timeout(seconds: 60)

  func validate() throws {
    try AccountAtServerArguments.check(jid, account)
    if newPasswordStdin && newPasswordCommand != nil {
      throw ValidationError(
        inLanguage(
          "--new-password-stdin and --new-password-command cannot be used together.",
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
          "the stored --password-command must print the new password from now on",
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
