import AgentProtocol
import ArgumentParser
import Terminal

/// `imctl token`: the stored tokens. Only `print` shows a secret.
struct TokenCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "token",
    abstract: "Show, print or revoke the account's tokens.",
    subcommands: [
      TokenShowCommand.self, TokenListCommand.self, TokenPrintCommand.self, TokenRevokeCommand.self,
    ])
}

extension OutputOptions {
  /// Prints what is known of tokens as a table.
  fileprivate func tokens(_ tokens: [TokenSummary]) throws {
    let columns: [TextTable.Column] = [
      .init(inLanguage("ACCOUNT", "账号")), .init(inLanguage("USE", "用途")), .init(inLanguage("LOGIN", "登录方式")),
      .init(inLanguage("MECHANISM", "机制")), .init(inLanguage("EXPIRES", "有效期")),
    ]
    try list(tokens, columns) { token in
      let expires = token.expires.map { LocalTime($0).description }
      return [
        TextTable.Cell("\(peer: token.account)"), TextTable.Cell(token.use.rawValue),
        TextTable.Cell(token.auth.rawValue), TextTable.Cell("\(peer: token.mechanism ?? "")"),
        TextTable.Cell(
          token.expired ? expires.map { inLanguage("expired \($0)", "已于 \($0) 过期") } ?? "" : expires ?? ""),
      ]
    }
  }
}

/// `imctl token show`.
struct TokenShowCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "Show which tokens the account has, but not the tokens (exit status 1: none).")

  @OptionGroup var account: AccountOption
  @OptionGroup var output: OutputOptions
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Stop after this many seconds (0: never).", valueName: "seconds"))
  var timeout = Timeout.ofRequest

  func run() throws {
    let lines = try OneTimeAgent.ask(
      TokenListMethod.self, .init(account: account.account, all: false), until: Deadline(timeout))
    try output.tokens(lines)
    if lines.isEmpty { throw ExitCode(1) }
  }
}

/// `imctl token list`.
struct TokenListCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Show which tokens all accounts have, one per line.")

  @OptionGroup var output: OutputOptions
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Stop after this many seconds (0: never).", valueName: "seconds"))
  var timeout = Timeout.ofRequest

  func run() throws {
    let lines = try OneTimeAgent.ask(
      TokenListMethod.self, .init(account: nil, all: true), until: Deadline(timeout))
    try output.tokens(lines)
    if lines.isEmpty {
      output.empty(
        inLanguage(
          "no tokens are stored: imctl login JID --store token", "没有存储任何令牌：imctl login JID --store token"))
    }
  }
}

/// `imctl token print`.
struct TokenPrintCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "print",
    abstract: "Print the token for logging in, or else the server's token for this device.")

  @OptionGroup var account: AccountOption
  @OptionGroup var output: OutputOptions
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Stop after this many seconds (0: never).", valueName: "seconds"))
  var timeout = Timeout.ofRequest

  func run() throws {
    let answer = try OneTimeAgent.ask(
      TokenPrintMethod.self, .init(account: account.account), until: Deadline(timeout))
    try output.data(answer, text: "\(peer: answer.token)")
  }
}

/// `imctl token revoke`.
struct TokenRevokeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "revoke",
    abstract: "Revoke the server's token for this device. A running session continues.")

  struct Answer: Encodable {
    let account: String
    let revoked: Bool
  }

  @OptionGroup var account: AccountOption
  @OptionGroup var output: OutputOptions
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Stop after this many seconds (0: never).", valueName: "seconds"))
  var timeout = Timeout(seconds: 20)

  func run() throws {
    Interrupt.install()
    let deadline = Deadline(timeout)
    let stored = try OneTimeAgent.ask(
      AccountResolveMethod.self, .init(account: account.account, isStored: true), until: deadline)
    let parameters = TokenRevokeMethod.Parameters(account: stored.account, timeout: timeout.seconds)
    let revoked = try AgentClient.answer(
      to: TokenRevokeMethod.self, parameters, until: deadline.ofAgent
    ).revoked
    if output.json { try output.data(Answer(account: stored.account, revoked: revoked), text: "") }
    if !revoked {
      output.note(
        inLanguage(
          "the server has issued no token for this device", "服务器没有为本设备发放令牌"))
    }
  }
}
