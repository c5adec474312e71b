import AgentErrand
import AgentProtocol
import AgentStore
import ArgumentParser

/// An account that need not be logged in here, nor stored: what is stored stays as it is.
struct DeviceUserOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      Log in to this account with the password or token that is given, without presence, and leave what is stored \
      alone.
      """, valueName: "JID"))
  var user: String?

  @OptionGroup var password: PasswordOptions

  @Flag(help: "Read a token from standard input: its first line.")
  var tokenStdin = false

  @Option(
    help: ArgumentHelp(
      #"Run this: it prints a token, or JSON {"token":…,"expires":RFC 3339,"jid":…}."#, valueName: "command"))
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
          "\(given[0]) and \(given[1]) exclude each other.", "\(given[0]) 和 \(given[1]) 不能同时使用。"))
    }
    if user == nil, !given.isEmpty || connection.isGiven {
      throw ValidationError(
        inLanguage("Options of a secret or connection need --user.", "凭据和连接选项需要 --user。"))
    }
  }

  /// How to log in to the account of `--user`; nil without it.
  func login(until deadline: Deadline) throws -> LoginMethod.Parameters? {
    guard let user else { return nil }
    var login = LoginMethod.Parameters(account: try BareJID.normalise(user))
    login.options = try connection.options()
    if let tokenCommand {
      // Its answer is used up here: it is asked once.
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

extension DevicesAtServer {
  /// Runs `body` in this process, on streams of its own.
  ///
  /// - Parameter login: nil: the account as it is stored.
  static func run<Value: Sendable>(
    _ login: LoginMethod.Parameters?, of account: AccountOption, _ output: OutputOptions,
    until deadline: Deadline,
    _ body: @escaping @Sendable (DevicesAtServer) async throws(Failure) -> Value
  ) throws -> Value {
    let store = try StoredAccounts.store()
    var login = try login ?? .init(account: StoredAccounts.load().account(account.account).account)
    login.timeout = deadline.secondsLeft ?? 0
    return try Foreground.wait(
      until: deadline.ofStream, else: .timedOut(inLanguage("the server", "服务器")),
      cancelled: Foreground.mayBeDone
    ) {
      [login] () async throws(Failure) in
      let devices = try await DevicesAtServer(login, in: store, language: OutputOptions.language) {
        output.show($0)
      }
      return try await body(devices)
    }
  }
}
