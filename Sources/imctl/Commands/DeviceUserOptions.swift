import AgentProtocol
import ArgumentParser
import Terminal

/// An account that need not be logged in or stored here. Stored data does not change.
struct DeviceUserOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      Log in to this account with the given password or token, without presence, and do not change stored data.
      """, valueName: "JID"))
  var user: String?

  @OptionGroup var password: PasswordOptions

  @Flag(help: "Read the token from standard input (first line).")
  var tokenStdin = false

  @Option(
    help: ArgumentHelp(
      #"Run this command, which prints a token, or JSON: {"token":…,"expires":RFC 3339,"jid":…}."#,
      valueName: "command"))
  var tokenCommand: String?

  @OptionGroup(title: "Connection") var connection: ConnectionArguments

  func validate() throws {
    if user?.isEmpty == true { throw ValidationError(inLanguage("The JID is empty.", "JID 为空。")) }
    let given = [
      ("--password-stdin", password.passwordStdin), ("--password-command", password.passwordCommand != nil),
      ("--token-stdin", tokenStdin), ("--token-command", tokenCommand != nil),
    ].filter(\.1).map(\.0)
    if given.count > 1 {
      throw ValidationError(
        inLanguage(
          "\(given[0]) and \(given[1]) cannot be used together.", "\(given[0]) 和 \(given[1]) 不能同时使用。"))
    }
    if user == nil, !given.isEmpty || connection.isGiven {
      throw ValidationError(
        inLanguage("Credentials and connection options require --user.", "凭据和连接选项需要 --user。"))
    }
  }

  /// The login parameters for the account of `--user`; nil without it.
  func login(until deadline: Deadline) throws -> LoginMethod.Parameters? {
    guard let user else { return nil }
    var login = LoginMethod.Parameters(
      account: try OneTimeAgent.ask(AccountResolveMethod.self, .init(account: user), until: deadline).account)
    login.options = try connection.options()
    if let tokenCommand {
      // The command runs here, and the agent uses its output instead of running it again.
      login.tokenCommand = tokenCommand
      login.tokenAnswer = try CredentialSource.token(tokenCommand, until: deadline).printed
    } else if tokenStdin {
      login.token = try StandardInput.secret(until: deadline, orElse: SecretOptions.emptyToken)
    } else {
      login.password =
        try password.read(until: deadline)
        ?? PasswordOptions.ask(
          inLanguage("Password for ", "密码 ") + "\(peer: login.account): ",
          options: "--password-stdin, --password-command, --token-stdin, --token-command", until: deadline)
    }
    return login
  }
}
