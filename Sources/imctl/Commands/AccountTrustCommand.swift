import AgentProtocol
import AgentStore
import ArgumentParser

/// `imctl account trust`: what the account's server is held to.
struct AccountTrustCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "trust",
    abstract: "Show what is remembered of the account's server, or forget it.",
    discussion: """
      A server that offers less than the mechanism that is remembered is refused. If it really changed, or has \
      another certificate than the one that was given with --cert-sha256: --reset, and log in again.
      """)

  /// A line of `--json`: null where nothing is remembered.
  struct Answer: Encodable {
    let account: String
    let host: String?
    let port: Int?
    let tls: String?
    let mechanism: String?
    let certSHA256: String?
    let caFile: String?
    let stepByStep: Bool?

    init(_ account: Account) {
      self.account = account.account
      host = account.server?.host
      port = account.server?.port
      tls = account.server?.tls
      mechanism = account.server?.mechanism
      certSHA256 = account.options.certSHA256
      caFile = account.options.caFile
      stepByStep = account.server?.isStepByStep
    }

    private enum CodingKeys: CodingKey {
      case account, host, port, tls, mechanism, certSHA256, caFile, stepByStep
    }

    func encode(to encoder: any Encoder) throws {
      var fields = encoder.container(keyedBy: CodingKeys.self)
      try fields.encode(account, forKey: .account)
      try fields.encode(host, forKey: .host)
      try fields.encode(port, forKey: .port)
      try fields.encode(tls, forKey: .tls)
      try fields.encode(mechanism, forKey: .mechanism)
      try fields.encode(certSHA256, forKey: .certSHA256)
      try fields.encode(caFile, forKey: .caFile)
      try fields.encode(stepByStep, forKey: .stepByStep)
    }

    /// A line a fact, each with its name in front.
    var text: String {
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
      return lines.map { name, value in
        name + String(repeating: " ", count: max(1, 10 - name.count)) + "\(peer: value)"
      }.joined(separator: "\n")
    }
  }

  @Argument(help: ArgumentHelp("The account; without it the default account.", valueName: "JID"))
  var jid: String?

  @Flag(help: "Forget what is remembered of the server, and which certificate alone is trusted.")
  var reset = false

  @OptionGroup var account: AccountOption
  @OptionGroup var output: OutputOptions

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Bound of the whole command, 0 for none.", valueName: "seconds"))
  var timeout = Timeout.ofRequest

  func validate() throws { try AccountAtServerArguments.check(jid, account) }

  func run() throws {
    Deadline(timeout).endProcess(waitingFor: AccountCommand.store, json: output.json)
    let name = jid ?? account.account
    if !reset {
      let answer = Answer(try StoredAccounts.load().account(name))
      return try output.data(answer, text: answer.text)
    }
    let changed = try StoredAccounts.store().update { file throws(Failure) in
      var account = try file.account(name)
      account.server = nil
      account.options.certSHA256 = nil
      file[account.account] = account
      return account
    }
    if output.json { try output.data(Answer(changed), text: "") }
  }
}
