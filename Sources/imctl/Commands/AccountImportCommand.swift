import AgentProtocol
import ArgumentParser
import Terminal

/// `imctl account import`: stores the accounts of another program.
struct AccountImportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Import accounts from a JSON file.",
    discussion: """
      The file contains an object with the fields account, password, domain and isLogin, or a list of such objects. An \
      account that is already stored with a secret keeps that secret unless --replace is given. If the file contains \
      an error, nothing is stored.
      """)

  struct Answer: Encodable {
    let account: String
    let action: AccountImportMethod.Action
  }

  @Argument(help: ArgumentHelp("The file (- for standard input).", valueName: "FILE"), completion: .file())
  var file: String

  @Flag(help: "Replace a stored secret with the one in the file.")
  var replace = false

  @OptionGroup var output: OutputOptions

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Stop after this many seconds (0: never).", valueName: "seconds"))
  var timeout = Timeout.ofRequest

  func run() throws {
    let isInput = file == "-"
    let parameters = AccountImportMethod.Parameters(
      path: isInput ? nil : file,
      name: isInput ? inLanguage("standard input", "标准输入") : file,
      replace: replace)
    let result = try OneTimeAgent.ask(AccountImportMethod.self, parameters, until: Deadline(timeout))
    for outcome in result.outcomes {
      try output.data(
        Answer(account: outcome.account, action: outcome.action),
        text: "\(peer: outcome.account) \(outcome.action.rawValue)")
    }
    if result.isOpenToOthers {
      output.note(
        inLanguage(
          "\(peer: file) can be read by other users: delete it, or run chmod 600 on it",
          "其他用户可以读取 \(peer: file)：请删除它，或执行 chmod 600"))
    }
  }
}
