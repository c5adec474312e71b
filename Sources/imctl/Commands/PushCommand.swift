import AgentProtocol
import ArgumentParser

/// `imctl push`: push services that the server notifies while no device is connected.
struct PushCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "push",
    abstract: "Have the server notify a push service of messages while you are offline.",
    subcommands: [PushEnableCommand.self, PushDisableCommand.self])
}

/// `imctl push enable`.
struct PushEnableCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "enable",
    abstract: "Enable notifications to a push service.",
    discussion: """
      The setting is stored with the account and sent to the server at each login until it is disabled.
      """)

  @Argument(help: ArgumentHelp("JID of the push service.", valueName: "JID"))
  var service: String

  @Argument(help: ArgumentHelp("Node that identifies this device at the service.", valueName: "NODE"))
  var node: String

  @Flag(
    help: """
      Read the secret that the service expects with each notification from standard input (first line).
      """)
  var secretStdin = false

  @OptionGroup var options: AccountCommandOptions

  func validate() throws {
    if node.isEmpty { throw ValidationError(inLanguage("NODE is empty.", "NODE 为空。")) }
  }

  func run() throws {
    let deadline = Deadline(options.timeout)
    var change = PushMethod.Parameters(account: nil, enabled: true, service: service, node: node)
    if secretStdin {
      change.secret = try StandardInput.secret(
        until: deadline, orElse: .usage(.emptySecret))
    }
    try options.run(change, until: deadline)
  }
}

/// `imctl push disable`.
struct PushDisableCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "disable",
    abstract: "Disable notifications to a push service.")

  @Argument(help: ArgumentHelp("JID of the push service.", valueName: "JID"))
  var service: String

  @Argument(
    help: ArgumentHelp(
      "Disable only this node. If omitted, all nodes of the service are disabled.", valueName: "NODE"))
  var node: String?

  @OptionGroup var options: AccountCommandOptions

  func run() throws {
    let change = PushMethod.Parameters(account: nil, enabled: false, service: service, node: node)
    try options.run(change, until: Deadline(options.timeout))
  }
}

extension AccountCommandOptions {
  fileprivate func run(_ change: PushMethod.Parameters, until deadline: Deadline) throws {
    let result = try answer(to: PushMethod.self, until: deadline) { timeout in
      var change = change
      change.account = account.account
      change.timeout = timeout
      return change
    }
    if output.json { try output.data(result, text: "") }
  }
}
