import AgentProtocol
import ArgumentParser
import Terminal

/// `imctl logout`: ends a session.
struct LogoutCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "logout",
    abstract: "Go offline and stay offline.",
    discussion: """
      First sends the messages that the server has not acknowledged yet, then unavailable presence, and then ends the \
      session. Messages that cannot be sent stay queued, and the exit status is 87.

      The credentials (see `imctl login --store`) stay stored, so that the next login needs no prompt. --forget \
      deletes them.
      """)

  struct Answer: Encodable {
    let account: String
    let state = SessionState.offline
    /// The form in which the secret remains stored.
    let kept: StorePolicy?
  }

  @Argument(
    help: ArgumentHelp("The account. If omitted, the default account is used.", valueName: "JID"),
    completion: .accounts)
  var jid: String?

  @OptionGroup var account: AccountOption
  @OptionGroup var output: OutputOptions

  @Flag(help: "Log out all accounts.")
  var all = false

  @Flag(help: "Discard messages that cannot be sent.")
  var force = false

  @Flag(help: "Also delete the stored account and its messages, unless messages stay queued.")
  var forget = false

  @Flag(help: "Also revoke the server's token for this device.")
  var revoke = false

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Wait this many seconds for acknowledgements.", valueName: "seconds"))
  var flush = Timeout(seconds: 10)

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      """
      Stop after this many seconds (0: never). Default: --flush plus 10 seconds, or plus 20 with --revoke.
      """,
      valueName: "seconds"))
  var timeout: Timeout?

  func validate() throws {
    if jid?.isEmpty == true { throw ValidationError(inLanguage("The JID is empty.", "JID 为空。")) }
    if let jid, let account = account.account, jid != account {
      throw ValidationError(
        inLanguage("JID and --account name different accounts.", "JID 和 --account 指定了不同的账号。"))
    }
    if all && (jid ?? account.account) != nil {
      throw ValidationError(inLanguage("--all and a JID cannot be used together.", "--all 和 JID 不能同时使用。"))
    }
  }

  /// A remark about the secret that remains stored after a logout.
  static func remark(on kept: StorePolicy, of account: String) -> String {
    let secret =
      switch kept {
      case .password: inLanguage("the secret", "凭据")
      case .keys: inLanguage("the keys derived from the password", "由密码导出的密钥")
      case .token: inLanguage("the server's token for this device", "服务器给本设备的令牌")
      case .command: inLanguage("the command that prints the secret", "输出凭据的命令")
      case .none: inLanguage("nothing", "无")
      }
    return inLanguage(
      "\(secret) stays stored for the next login; `imctl logout --forget` deletes it",
      "\(secret)仍保存着，供下次登录使用；`imctl logout --forget` 可将其删除")
  }

  func run() throws {
    var parameters = LogoutMethod.Parameters(account: jid ?? account.account)
    parameters.all = all
    parameters.forget = forget
    parameters.force = force
    parameters.revoke = revoke
    parameters.flush = flush.seconds
    let bound = timeout ?? Timeout(seconds: flush.seconds + (revoke ? 20 : 10))
    parameters.timeout = bound.seconds
    let result = try AgentClient.answer(to: LogoutMethod.self, parameters, until: Deadline(bound))
    for account in result.accounts {
      let kept = result.kept?[account]
      try output.data(Answer(account: account, kept: kept), text: "\(peer: account) offline")
      if let kept { output.note(Self.remark(on: kept, of: account)) }
    }
    if let failure = result.unstored {
      output.note(
        inLanguage(
          "the logout could not be stored: run the command again when the file is writable; otherwise, the next agent logs in again",
          "退出登录的状态未能保存：请在文件可写入后再次运行，否则下一个后台进程会重新登录"))
      throw failure
    }
    if result.unsent > 0, result.unrevoked == nil { throw Failure.unconfirmed(queued: result.unsent) }
    if let failure = result.unrevoked {
      output.note(
        inLanguage(
          "the server has not revoked the token; to try again, run: imctl token revoke",
          "服务器尚未吊销令牌；令牌已保留，可稍后运行：imctl token revoke"))
      throw failure
    }
  }
}
