import AgentProtocol
import ArgumentParser

/// `imctl devices send`.
struct DevicesSendCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "send",
    abstract: "Send a message to one other device of the account.",
    discussion: """
      If the device is not online, nothing is sent (exit status 74). `imctl history JID/RESOURCE` shows the messages \
      that were sent to the device.
      """)

  @Argument(
    help: ArgumentHelp(
      "Resource or name of the device, as shown by `imctl devices list`.", valueName: "RESOURCE"),
    completion: .resources)
  var resource: String

  @Argument(help: ArgumentHelp("The message. If omitted, all of standard input is sent.", valueName: "TEXT"))
  var text: String?

  @OptionGroup var account: AccountOption
  @OptionGroup var output: OutputOptions

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Stop after this many seconds (0: never).", valueName: "seconds"))
  var timeout = Timeout(seconds: 30)

  func validate() throws {
    if resource.isEmpty { throw ValidationError(inLanguage("The resource is empty.", "资源为空。")) }
    if text?.isEmpty == true { throw ValidationError(inLanguage("The text is empty.", "文本为空。")) }
  }

  func run() throws {
    Interrupt.install()
    let text = try text ?? output.typedText()
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
