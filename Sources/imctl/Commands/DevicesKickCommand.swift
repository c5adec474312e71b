import AgentProtocol
import ArgumentParser
import Terminal

/// `imctl devices kick`: ends the session of another device.
struct DevicesKickCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "kick",
    abstract: "End the session of another device of the account, or of all others.",
    discussion: """
      The command takes over the device's session on the server for a moment and then ends it. The other devices are \
      not affected, and nobody sees who ended the session. The device may log in again; with --revoke, the old \
      password no longer works.

      Exit status 1: the device was not online, or --all may have left sessions or tokens, which are named. Exit \
      status 85: the server keeps the existing session.
      """)

  @Argument(
    help: ArgumentHelp(
      "Resource or name of the device, as shown by `imctl devices list`.", valueName: "RESOURCE"),
    completion: .resources)
  var resource: String?

  @Flag(help: "End the sessions of all other devices; with --user, of all devices.")
  var all = false

  @Flag(
    help: """
      With --all: change the account's password first, so that no device can come back with the old one.
      """)
  var revoke = false

  @Flag(help: "Read the new password from standard input (one line, after that of --password-stdin).")
  var newPasswordStdin = false

  @Option(
    help: ArgumentHelp(
      "Run this command and use its first line of output as the new password.", valueName: "command"))
  var newPasswordCommand: String?

  @Option(
    help: ArgumentHelp(
      "As a server administrator: end sessions of this account instead of your own.", valueName: "JID"))
  var of: String?

  @OptionGroup(title: "Account that is not logged in here") var user: DeviceUserOptions
  @OptionGroup var account: AccountOption
  @OptionGroup var output: OutputOptions

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Stop after this many seconds (0: never).", valueName: "seconds"))
  var timeout = Timeout(seconds: 60)

  func validate() throws {
    if resource?.isEmpty == true { throw ValidationError(inLanguage("The resource is empty.", "资源为空。")) }
    if (resource == nil) != all {
      throw ValidationError(inLanguage("Specify a RESOURCE or --all.", "请给出资源，或使用 --all。"))
    }
    if revoke, !all || of != nil {
      throw ValidationError(
        inLanguage(
          "--revoke requires --all, and cannot be used with --of.", "--revoke 需要 --all，且不能与 --of 同时使用。"))
    }
    if !revoke, newPasswordStdin || newPasswordCommand != nil {
      throw ValidationError(inLanguage("A new password requires --revoke.", "新密码需要 --revoke。"))
    }
    if newPasswordStdin && newPasswordCommand != nil {
      throw ValidationError(
        inLanguage(
          "--new-password-stdin and --new-password-command cannot be used together.",
          "--new-password-stdin 和 --new-password-command 不能同时使用。"))
    }
    if of != nil, user.user != nil {
      throw ValidationError(
        inLanguage(
          "--of requires a session that is online, and cannot be used with --user.",
          "--of 需要在线会话，不能与 --user 同时使用。"))
    }
  }

  func run() throws {
    Interrupt.install()
    let deadline = Deadline(timeout)
    let login = try user.login(until: deadline)
    let new = revoke ? try newPassword(login?.account, until: deadline) : nil
    let result = try result(login, new, until: deadline)
    for outcome in result.outcomes {
      if let left = outcome.left, !output.json {
        Console.err(text(left))
      } else {
        try output.data(outcome, text: text(outcome))
      }
    }
    if result.usesCommand {
      output.note(
        inLanguage(
          "the stored --password-command must print the new password from now on",
          "已存储的 --password-command 今后必须输出新密码"))
    }
    if let failure = result.outcomes.lazy.compactMap(\.error).first { throw failure }
    let isNamed = resource != nil || of != nil
    let isUndone = result.outcomes.contains { $0.state == .unknown || isNamed && $0.state == .notOnline }
    if isUndone { throw ExitCode(1) }
  }

  private func result(
    _ login: LoginMethod.Parameters?, _ new: String?, until deadline: Deadline
  ) throws -> DevicesKickMethod.Result {
    if var login {
      login.timeout = deadline.secondsLeft ?? 0
      return try OneTimeAgent.ask(
        UserDevicesKickMethod.self, .init(login: login, resource: resource, newPassword: new),
        until: deadline.ofAgent, onStep: output.show)
    }
    var request = DevicesKickMethod.Parameters(
      account: account.account, resource: resource, timeout: deadline.secondsLeft ?? 0)
    request.newPassword = new
    request.newPasswordCommand = newPasswordCommand
    request.of = of
    let answer = try AgentClient.session(start: .once, until: deadline.ofAgent) { agent in
      try agent.answer(to: agent.send(DevicesKickMethod.self, request)) { output.show($0.body) }
    }
    guard let answer else { throw Failure.noAnswer }
    return answer
  }

  private func newPassword(_ user: String?, until deadline: Deadline) throws -> String {
    if let newPasswordCommand { return try CredentialSource.run(newPasswordCommand, until: deadline) }
    if newPasswordStdin { return try PasswordOptions.standardInput(until: deadline) }
    let name =
      try user
      ?? OneTimeAgent.ask(
        AccountResolveMethod.self, .init(account: account.account, isStored: true), until: deadline
      ).account
    return try PasswordOptions.askTwice(
      inLanguage("New password for ", "新密码 ") + "\(peer: name): ",
      options: "--new-password-stdin, --new-password-command", until: deadline)
  }

  private func text(_ outcome: DevicesKickMethod.Outcome) -> String {
    let name = [of.map { "\(peer: $0)" }, outcome.resource.map { "\(peer: $0)" }].compactMap(\.self)
      .joined(separator: "/")
    switch outcome.state {
    case .kicked: return "\(name) kicked"
    case .notOnline: return "\(name) was not online"
    case .refused: return "\(name) stays"
    case .unknown: return ""
    }
  }

  private func text(_ left: DevicesKickMethod.Outcome.Remainder) -> String {
    switch left {
    case .sessions:
      inLanguage(
        """
        Clients other than imctl may still be online: this server lists no sessions, and shows them only to a session \
        with presence. `imctl devices kick --all --revoke` ends them with a new password.
        """,
        "imctl 以外的客户端可能仍然在线：此服务器不列出会话，只向有在线状态的会话显示它们。`imctl devices kick --all --revoke` 会用新密码结束它们。")
    case .tokens:
      inLanguage(
        """
        The tokens of imctl devices were revoked. Clients other than imctl may still log in with tokens that they got \
        before: this server keeps tokens when the password changes, and only its administrator can revoke them.
        """,
        "imctl 设备的令牌已被作废。imctl 以外的客户端仍可能用以前获得的令牌登录：此服务器在更改密码后保留令牌，只有其管理员能作废它们。")
    }
  }
}
