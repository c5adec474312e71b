import AgentProtocol
import AgentStore
import ArgumentParser
import FoundationEssentials
import XMPPSASL

/// `imctl token`: what is stored beside passwords. Only `print` shows a secret.
struct TokenCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "token",
    abstract: "The tokens that are stored: the server's for this device, and those that log in.",
    subcommands: [
      TokenShowCommand.self, TokenListCommand.self, TokenPrintCommand.self, TokenRevokeCommand.self,
    ])

  static func now() -> Double { Date().timeIntervalSince1970 }
}

/// A stored token as `token list --json` prints it: everything but itself.
struct TokenLine: Encodable {
  enum Use: String, Encodable {
    /// The server's, for this device (XEP-0484).
    case device
    /// Given with a login.
    case given
    /// The last answer of the token command.
    case issued
  }

  let account: String
  let use: Use
  /// How the account logs in.
  let auth: LoginKind
  /// What the token is for; null where any that carries it will do.
  let mechanism: String?
  /// RFC 3339; null where it is not known.
  let expires: String?
  let expired: Bool
  fileprivate let secret: Secret

  /// What is stored of an account, the token that logs in first.
  static func all(of account: Account, at now: Double) -> [TokenLine] {
    let credential = account.credential
    var lines: [TokenLine] = []
    for (use, token) in [(Use.issued, credential.issued), (.given, credential.token)] {
      guard let token else { continue }
      lines.append(
        TokenLine(
          account: account.account, use: use, auth: credential.kind, mechanism: nil, expires: token.end,
          expired: token.isOver(at: now), secret: token.token))
    }
    if let token = account.token {
      lines.append(
        TokenLine(
          account: account.account, use: .device, auth: credential.kind, mechanism: token.mechanism,
          expires: token.expiry, expired: token.isExpired(at: now), secret: token.secret))
    }
    return lines
  }

  var text: String {
    var parts = ["\(peer: account)", use.rawValue, auth.rawValue]
    if let mechanism { parts.append("\(peer: mechanism)") }
    if let expires {
      parts.append(
        expired
          ? inLanguage("expired \(peer: expires)", "已于 \(peer: expires) 过期")
          : inLanguage("until \(peer: expires)", "有效期至 \(peer: expires)"))
    }
    return parts.joined(separator: " ")
  }

  func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: Key.self)
    try fields.encode(account, forKey: .account)
    try fields.encode(use, forKey: .use)
    try fields.encode(auth, forKey: .auth)
    try fields.encode(mechanism, forKey: .mechanism)
    try fields.encode(expires, forKey: .expires)
    try fields.encode(expired, forKey: .expired)
  }

  private enum Key: String, CodingKey { case account, use, auth, mechanism, expires, expired }
}

/// `imctl token show`.
struct TokenShowCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "Tell what tokens the account has, not the tokens; exit status 1 where it has none.")

  @OptionGroup var account: AccountOption
  @OptionGroup var output: OutputOptions
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Bound of the whole command, 0 for none.", valueName: "seconds"))
  var timeout = Timeout.ofRequest

  func run() throws {
    Deadline(timeout).endProcess(waitingFor: AccountCommand.store, json: output.json)
    let lines = TokenLine.all(of: try StoredAccounts.load().account(account.account), at: TokenCommand.now())
    for line in lines { try output.data(line, text: line.text) }
    if lines.isEmpty { throw ExitCode(1) }
  }
}

/// `imctl token list`.
struct TokenListCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Tell what tokens all accounts have, a line each.")

  @OptionGroup var output: OutputOptions
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Bound of the whole command, 0 for none.", valueName: "seconds"))
  var timeout = Timeout.ofRequest

  func run() throws {
    Deadline(timeout).endProcess(waitingFor: AccountCommand.store, json: output.json)
    let lines = try StoredAccounts.load().accounts.flatMap { TokenLine.all(of: $0, at: TokenCommand.now()) }
    for line in lines { try output.data(line, text: line.text) }
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
    abstract: "Print the token that logs in, and nothing else; without one the server's for this device.")

  struct Answer: Encodable {
    let token: String
  }

  @OptionGroup var account: AccountOption
  @OptionGroup var output: OutputOptions
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Bound of the whole command, 0 for none.", valueName: "seconds"))
  var timeout = Timeout.ofRequest

  func run() throws {
    Deadline(timeout).endProcess(waitingFor: AccountCommand.store, json: output.json)
    let account = try StoredAccounts.load().account(account.account)
    let lines = TokenLine.all(of: account, at: TokenCommand.now())
    guard let line = lines.first(where: { !$0.expired }) ?? lines.first else {
      throw Failure(
        account.isLogin ? .invalidParameter : .notLoggedIn, stage: .store,
        detail: inLanguage("no token is stored for \(account.account)", "没有为 \(account.account) 存储令牌"))
    }
    if line.expired {
      throw Failure(.tokenExpired, stage: .store, detail: line.expires.map { "it expired at \($0)" })
    }
    try output.data(Answer(token: line.secret.value), text: "\(peer: line.secret.value)")
  }
}

/// `imctl token revoke`.
struct TokenRevokeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "revoke",
    abstract: "Have the server forget its token for this device, and delete it; a running session goes on.")

  struct Answer: Encodable {
    let account: String
    let revoked: Bool
  }

  @OptionGroup var account: AccountOption
  @OptionGroup var output: OutputOptions
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Bound of the whole command, 0 for none.", valueName: "seconds"))
  var timeout = Timeout(seconds: 20)

  func run() throws {
    Interrupt.install()
    let stored = try StoredAccounts.load().account(account.account)
    let parameters = TokenRevokeMethod.Parameters(account: stored.account, timeout: timeout.seconds)
    let answer = try AgentClient.session(start: .never, until: Deadline(timeout).ofAgent) {
      try $0.answer(to: $0.send(TokenRevokeMethod.self, parameters))
    }
    let revoked =
      try answer?.revoked
      ?? StoredAccounts.revoke(stored, timeout: timeout.seconds)
    if output.json { try output.data(Answer(account: stored.account, revoked: revoked), text: "") }
    if !revoked {
      output.note(
        inLanguage(
          "the server has given no token for this device", "服务器没有为本设备发放令牌"))
    }
  }
}
