import AgentProtocol
import ArgumentParser

/// `imctl presence`: shows the desired presence, sets it, or holds it while a command runs.
struct PresenceCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "presence",
    abstract: "Show or set your presence, or hold it while a command runs.",
    discussion: """
      The presence is stored and applied at every login. If the account is not online, the presence is only stored, \
      and the exit status is 0.

      With `-- COMMAND`, the presence is held while COMMAND runs, and the previous presence is restored afterwards. If \
      holds overlap, the newest hold whose command still runs applies. imctl exits with the status of COMMAND, or \
      with 128+N if signal N ended it, 127 if it is not found, and 126 if it cannot be executed.
      """)

  @Argument(help: ArgumentHelp("The presence to set.", valueName: "SHOW"))
  var show: PresenceShow?

  @Argument(help: ArgumentHelp("Status text that others see.", valueName: "TEXT"))
  var text: String?

  @Argument(
    parsing: .postTerminator,
    help: ArgumentHelp("Command during which the presence is held.", valueName: "COMMAND"))
  var command: [String] = []

  @OptionGroup var account: AccountOption
  @OptionGroup var output: OutputOptions

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Priority of this session for incoming messages, from -128 to 127.", valueName: "N"))
  var priority: Int?

  @Option(help: ArgumentHelp("Send the presence only to this JID.", valueName: "JID"), completion: .contacts)
  var to: String?

  @Option(
    name: .customLong("for"), parsing: .unconditional,
    help: ArgumentHelp("Restore the previous presence after this time: 90s, 30m, 2h.", valueName: "duration"))
  var duration: TimeSpan?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Stop after this many seconds, not counting COMMAND (0: never).", valueName: "seconds"))
  var timeout = Timeout(seconds: 10)

  func validate() throws {
    if show == nil && (priority != nil || to != nil || duration != nil || !command.isEmpty) {
      throw ValidationError(
        inLanguage(
          "Missing SHOW: online, chat, away, xa, dnd or offline.",
          "缺少 SHOW：online、chat、away、xa、dnd 或 offline。"))
    }
    if let priority, !(-128...127).contains(priority) {
      throw ValidationError(
        inLanguage(
          "The priority \(priority) is not in the range -128 to 127.", "优先级 \(priority) 不在 -128 到 127 之间。")
      )
    }
    if to?.isEmpty == true { throw ValidationError(inLanguage("The value of --to is empty.", "--to 的值为空。")) }
    if [to != nil, duration != nil, !command.isEmpty].count(where: { $0 }) > 1 {
      throw ValidationError(
        inLanguage("--to, --for and -- COMMAND cannot be used together.", "--to、--for 和 -- COMMAND 不能同时使用。"))
    }
  }

  func run() throws {
    guard let show else { return try printWanted() }
    var parameters = PresenceSetMethod.Parameters(account: account.account, show: show)
    parameters.status = text
    parameters.priority = priority
    parameters.to = to
    parameters.duration = duration?.seconds
    parameters.hold = !command.isEmpty
    if command.isEmpty {
      try AgentClient.session(start: .whenNoneRuns, timeout: timeout) { try set(parameters, over: $0) }
    } else {
      try hold(parameters)
    }
  }

  private func set(_ parameters: PresenceSetMethod.Parameters, over agent: AgentClient) throws {
    let status = try agent.answer(to: agent.send(PresenceSetMethod.self, parameters))
    if output.json { try output.data(status, text: "") }
    if !status.applied, parameters.to == nil { output.note(Self.reason(status, parameters)) }
  }

  /// Why other users do not see the requested presence.
  private static func reason(
    _ status: PresenceStatus, _ parameters: PresenceSetMethod.Parameters
  ) -> String {
    if (status.show, status.status) != (parameters.show, parameters.status)
      || parameters.priority.map({ $0 != status.priority }) == true
    {
      return inLanguage(
        "stored; it is applied when the command that holds the presence ends", "已保存，保持状态的命令结束后生效")
    }
    if parameters.hold {
      return inLanguage(
        "not online; the presence is held after a login while the command runs", "未在线：登录后，在命令运行期间保持该状态")
    }
    return inLanguage("not online; the presence is stored and applied at the next login", "未在线：已保存，下次登录时生效")
  }

  private func hold(_ parameters: PresenceSetMethod.Parameters) throws {
    Interrupt.install()
    var parameters = parameters
    parameters.since = PointInTime.now
    var connection: AgentClient?
    var failure: Failure?
    do {
      try AgentClient.session(start: .whenNoneRuns, timeout: timeout) { agent in
        try set(parameters, over: agent)
        connection = agent
      }
    } catch let error as Failure where error.name != .invalidParameter && error.name != .cancelled {
      // The command runs even if the presence cannot be held.
      Console.err(CommandEnd(error, json: output.json).standardError ?? "")
      failure = error
    }
    let hold = PresenceHold(parameters, json: output.json)?.start(connection, after: failure)
    connection = nil
    let status = HeldCommand(words: command, json: output.json).run()
    hold?.end()
    throw ExitCode(status)
  }

  private func printWanted() throws {
    let presence =
      try AgentClient.answer(
        to: PresenceGetMethod.self, .init(account: account.account), until: Deadline(timeout))
    try output.data(presence, text: StatusText.presence(presence))
  }
}
