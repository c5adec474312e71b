import AgentProtocol
import ArgumentParser

/// `imctl devices send`.
struct DevicesSendCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "send",
    abstract: "Send a message to another device of the account, and to no other.",
    discussion: """
      A device that is not online gets nothing: exit status 74. What was sent is in the history of the device, `imctl \
      history JID/RESOURCE`.
      """)

  @Argument(
    help: ArgumentHelp(
      "The resource or the name of the device, as `imctl devices list` shows it.", valueName: "RESOURCE"),
    completion: .resources)
  var resource: String

  @Argument(help: ArgumentHelp("Without it all of standard input.", valueName: "TEXT"))
  var text: String?

  @OptionGroup var account: AccountOption
  @OptionGroup var output: OutputOptions

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Bound of the whole command, 0 for none.", valueName: "seconds"))
  var timeout = Timeout(seconds: 30)

  func validate() throws {
    if resource.isEmpty { throw ValidationError(inLanguage("The resource is empty.", "资源为空。")) }
    if text?.isEmpty == true { throw ValidationError(inLanguage("The text is empty.", "文本为空。")) }
  }

  func run() throws {
    Interrupt.install()
    let deadline = Deadline(timeout)
    let body = try InputLines.body(text, until: deadline)
    let answer = try AgentClient.session(start: .whenNoneRuns, until: deadline.ofAgent) { agent in
      var request = DevicesSendMethod.Parameters(
        account: account.account, resource: resource, body: body, timeout: deadline.secondsLeft ?? 0)
      request.id = MessageSender.makeID()
      return try agent.answer(to: agent.send(DevicesSendMethod.self, request))
    }
    guard let answer else { throw Failure.noAnswer }
    try output.outcome(answer)
    var shortfall = Shortfall(.server)
    shortfall.add(answer)
    if let failure = shortfall.failure { throw failure }
  }
}
