import AgentProtocol
import ArgumentParser
import Terminal

/// `imctl outbox`: messages that the server is not known to have received.
struct OutboxCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "outbox",
    abstract: "Show or cancel messages that wait to be sent.",
    subcommands: [OutboxListCommand.self, OutboxCancelCommand.self])
}

/// `imctl outbox list`.
struct OutboxListCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List the queued messages, oldest first.")

  @OptionGroup var account: AccountOption
  @OptionGroup var output: OutputOptions

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Stop after this many seconds (0: never).", valueName: "seconds"))
  var timeout = Timeout.ofRequest

  func run() throws {
    let deadline = Deadline(timeout)
    let entries = try AgentClient.ask(
      OutboxListMethod.self, .init(account: account.account), start: .whenNoneRuns, timeout: timeout)
    try show(entries ?? [], until: deadline)
    if entries?.isEmpty != false {
      output.empty(inLanguage("no messages are waiting to be sent", "没有等待发送的消息"))
    }
  }

  private func show(_ entries: [OutboxListMethod.Entry], until deadline: Deadline) throws {
    let appearances = Appearances(until: deadline)
    if !output.json { appearances.load(entries.map(\.to), account: account.account) }
    try output.list(
      entries,
      [
        .init("ID"), .init(inLanguage("TIME", "时间")), .init(inLanguage("STATE", "状态")),
        .init(inLanguage("RECIPIENT", "收件人"), .cut), .init(inLanguage("TEXT", "内容"), .cut),
      ]
    ) { entry in
      let appearance = appearances.known(entry.to, account: account.account)
      return [
        TextTable.Cell("\(peer: entry.id)"), TextTable.Cell(LocalTime(entry.accepted).description, .faint),
        TextTable.Cell(entry.handedOver ? inLanguage("unconfirmed", "未确认") : inLanguage("queued", "排队中")),
        TextTable.Cell(appearance.shownName, appearance.attribute),
        TextTable.Cell("\(peer: entry.body ?? "")"),
      ]
    }
  }
}

/// `imctl outbox cancel`.
struct OutboxCancelCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cancel",
    abstract: "Cancel queued messages.",
    discussion: """
      A message that was sent to a server but not acknowledged may have arrived. It is not cancelled, and the exit \
      status is 1.
      """)

  @Argument(help: ArgumentHelp("IDs of the messages.", valueName: "ID"), completion: .outboxIDs)
  var ids: [String] = []

  @Flag(help: "Cancel all queued messages of the account.")
  var all = false

  @OptionGroup var account: AccountOption
  @OptionGroup var output: OutputOptions

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Stop after this many seconds (0: never).", valueName: "seconds"))
  var timeout = Timeout.ofRequest

  struct Answer: Encodable {
    let id: String
    let cancelled: Bool
  }

  func validate() throws {
    if all == !ids.isEmpty {
      throw ValidationError(inLanguage("Specify IDs or --all.", "请指定 id，或使用 --all。"))
    }
  }

  func run() throws {
    var result: OutboxCancelMethod.Result?
    try AgentClient.session(start: .whenNoneRuns, timeout: timeout) { agent in
      let parameters = OutboxCancelMethod.Parameters(account: account.account, ids: ids, all: all)
      result = try agent.answer(to: agent.send(OutboxCancelMethod.self, parameters))
    }
    for id in result?.cancelled ?? [] {
      try output.data(Answer(id: id, cancelled: true), text: "\(peer: id) cancelled")
    }
    let handedOver = result?.handedOver ?? []
    for id in handedOver {
      if output.json { try output.data(Answer(id: id, cancelled: false), text: "") }
      output.note(inLanguage("\(peer: id) may have reached the server already", "\(peer: id) 可能已到达服务器"))
    }
    if !handedOver.isEmpty { throw ExitCode(1) }
  }
}
