import AgentProtocol
import ArgumentParser
import Terminal

/// `imctl account trust`: what is remembered about the account's server and trusted.
struct AccountTrustCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "trust",
    abstract: "Show or reset what is remembered about the account's server.",
    discussion: """
      imctl refuses a server that offers only mechanisms weaker than the remembered one. If the server really changed, \
      or if its certificate is no longer the one that was given with --cert-sha256, use --reset and log in again.
      """)

  /// An object of `--json`, with null for facts that are not remembered.
  @Argument(
    help: ArgumentHelp("The account. If omitted, the default account is used.", valueName: "JID"),
    completion: .accounts)
  var jid: String?

  @Flag(help: "Forget what is remembered about the server, and the certificate from --cert-sha256.")
  var reset = false

  @OptionGroup var account: AccountOption
  @OptionGroup var output: OutputOptions

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Stop after this many seconds (0: never).", valueName: "seconds"))
  var timeout = Timeout.ofRequest

  func validate() throws { try AccountAtServerArguments.check(jid, account) }

  func run() throws {
    let parameters = AccountTrustMethod.Parameters(account: jid ?? account.account, reset: reset)
    let answer = try OneTimeAgent.ask(AccountTrustMethod.self, parameters, until: Deadline(timeout))
    if !reset || output.json { try output.facts(answer, answer.facts) }
  }
}

extension AccountTrustMethod.Result {
  fileprivate var facts: [(name: String, value: String)] {
    var lines = [("account", account)]
    if let host, let port { lines.append(("server", "\(host):\(port), \(tls ?? "starttls")")) }
    if let mechanism { lines.append(("login", inLanguage("\(mechanism) or stronger", "\(mechanism) 或更强"))) }
    if let certSHA256 {
      let text = inLanguage(
        "the certificate with SHA-256 \(certSHA256)", "SHA-256 为 \(certSHA256) 的证书")
      lines.append(("trusted", text))
    }
    if let caFile {
      lines.append(("trusted", inLanguage("the authorities in \(caFile)", "\(caFile) 中的证书颁发机构")))
    }
    if let stepByStep {
      let text =
        stepByStep ? inLanguage("step by step", "逐步进行") : inLanguage("ahead of the server", "提前于服务器发送")
      lines.append(("pace", text))
    }
    return lines
  }
}
