import AgentProtocol
import ArgumentParser
import Terminal

/// `imctl send`: sends a message, or one for each line.
struct SendCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "send",
    abstract: "Send a message.",
    discussion: """
      Sends TEXT, or all of standard input as one message. Exit status 0 means that the server has acknowledged the \
      message; with --wait delivered, that a client of the recipient has confirmed it.

      A message that is not acknowledged in time stays queued and is sent as soon as the account is online; the exit \
      status is then 87. It is also 87 if a confirmation is missing, and 74 if the recipient's side refuses the \
      message. If --id was used before for the same message, the message is not sent again.

      With --to or --to-file, each recipient gets the message and has an outcome of its own. The exit status is that \
      of the worst outcome.

      After JID, an argument that contains a space is always the text, even if it begins with a dash. Put `--` before \
      a text that comes from a variable.

      With --direct, the command uses no agent. It opens a connection with the stored account or the given options, \
      shows no presence, and closes the connection when the server has acknowledged everything. Nothing is queued.
      """)

  @Argument(
    help: ArgumentHelp("The recipient: a JID, or the exact name of a contact.", valueName: "JID"),
    completion: .contacts)
  var recipient: String

  @Argument(help: ArgumentHelp("The message. If omitted, all of standard input is sent.", valueName: "TEXT"))
  var text: String?

  @Option(
    help: ArgumentHelp("Also send to this recipient. Can be repeated.", valueName: "JID"),
    completion: .contacts)
  var to: [String] = []

  @Option(
    help: ArgumentHelp(
      "Also send to the recipients in this file: one JID per line (- for standard input).", valueName: "file")
  )
  var toFile: String?

  @Flag(
    help:
      """
      Send each line of standard input as a message. Clients of the recipient confirm these only with --wait \
      delivered.
      """
  )
  var lines = false

  @OptionGroup var waiting: WaitOption

  @Option(
    name: [.customShort("s"), .long], help: ArgumentHelp("Subject of the message.", valueName: "text"))
  var subject: String?

  @Option(help: ArgumentHelp("ID of the thread that the message belongs to.", valueName: "id"))
  var thread: String?

  @Option(help: ArgumentHelp("Type of the message.", valueName: "type"))
  var type: MessageType = .chat

  @Option(help: ArgumentHelp("ID of the message. If omitted, one is generated.", valueName: "id"))
  var id: String?

  @Option(
    help: ArgumentHelp(
      """
      Send a chat state instead of a message. It is never queued: the exit status is 67 if the account is not \
      online.
      """, valueName: "state"))
  var state: ChatStateSendMethod.State?

  @Flag(help: "Send over a connection of its own, without an agent.")
  var direct = false

  @OptionGroup(title: "Password (only with --direct)") var password: PasswordOptions
  @OptionGroup(title: "Connection (only with --direct)") var connection: ConnectionArguments
  @OptionGroup var account: AccountOption
  @OptionGroup var output: OutputOptions

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Stop after this many seconds (0: never). Default: 30; with --lines, 30 for each acknowledgement.",
      valueName: "seconds"))
  var timeout: Timeout?

  enum MessageType: String, ExpressibleByArgument, CaseIterable { case chat, normal, headline, groupchat }

  private var wait: MessageSendMethod.Wait { waiting.wait }

  func validate() throws {
    if ([recipient] + to).contains("") {
      throw ValidationError(inLanguage("The JID is empty.", "JID 为空。"))
    }
    if id != nil, !to.isEmpty || toFile != nil {
      throw ValidationError(
        inLanguage(
          "--id identifies one message and requires a single recipient.", "--id 只对应一条消息：只能有一个收件人。"))
    }
    if toFile == "-", (text == nil && state == nil) || lines || (direct && password.passwordStdin) {
      throw ValidationError(
        inLanguage("Standard input cannot contain both the recipients and the text.", "标准输入不能同时用作收件人和文本。"))
    }
    if state != nil, text != nil || lines || subject != nil || thread != nil || id != nil || direct {
      throw ValidationError(
        inLanguage(
          "--state cannot be used with a text, --lines, --subject, --thread, --id or --direct.",
          "--state 单独发送：不能带文本、--lines、--subject、--thread、--id 和 --direct。"))
    }
    if lines, text != nil || id != nil {
      throw ValidationError(
        inLanguage(
          "--lines reads the messages from standard input and generates their IDs.",
          "--lines 从标准输入读取消息并自动生成 id。"
        ))
    }
    if id?.isEmpty == true { throw ValidationError(inLanguage("The ID is empty.", "id 为空。")) }
    if let id, id.utf8.count > OutgoingMessage.maximumID {
      throw ValidationError(
        inLanguage(
          "The ID has \(id.utf8.count) octets; at most \(OutgoingMessage.maximumID) are allowed.",
          "id 有 \(id.utf8.count) 字节，最多 \(OutgoingMessage.maximumID) 字节。"))
    }
    if wait == .delivered, [.headline, .groupchat].contains(type) {
      throw ValidationError(
        inLanguage("Messages of this type are never confirmed.", "此类型的消息没有送达回执。"))
    }
    if direct {
      if wait == .none {
        throw ValidationError(
          inLanguage(
            "--direct stores no messages and cannot be used with --wait none.",
            "--direct 不存储消息：不能使用 --wait none。"))
      }
    } else if connection.isGiven || password.isGiven {
      throw ValidationError(
        inLanguage("Password and connection options require --direct.", "密码和连接选项需要 --direct。"))
    }
    if text?.isEmpty == true { throw ValidationError(inLanguage("The text is empty.", "文本为空。")) }
  }

  /// Thousands of lines should not cause as many receipts that nobody waits for.
  private var asksReceipts: Bool { !lines || wait == .delivered }

  mutating func run() throws {
    Interrupt.install()
    if text == nil, state == nil, !direct {
      text = try output.typedText(areLines: lines, isBounded: timeout != nil)
    }
    let deadline = Deadline(timeout ?? Timeout(seconds: lines ? 0 : 30))
    let recipients = try Recipients(
      [recipient] + to, file: toFile, account: account.account, asksAgent: !direct, until: deadline
    ).jids
    if let state { return try tell(state, to: recipients, until: deadline) }
    if direct { return try sendDirectly(to: recipients, until: deadline) }
    let sender = MessageSender(wait, isBounded: timeout != nil || !lines, until: deadline)
    if lines {
      var input = InputLines()
      try sender.send(from: &input, make: { text in recipients.map { call(text, to: $0) } }, report: report)
    } else {
      try sender.send(calls(try wholeMessages(to: recipients, until: deadline)), report: report)
    }
    if wait != .none { try end(sender.shortfall, isOfSeveral: recipients.count > 1) }
  }

  private func tell(_ state: ChatStateSendMethod.State, to recipients: [String], until deadline: Deadline)
    throws
  {
    try AgentClient.session(start: .whenNoneRuns, until: deadline.ofAgent) { agent in
      for recipient in recipients {
        let call = ChatStateSendMethod.Parameters(
          account: account.account, to: recipient, state: state.rawValue)
        _ = try agent.answer(to: agent.send(ChatStateSendMethod.self, call))
      }
    }
  }

  /// Throws the failure of the messages. With several recipients, each was reported already, so that only the status
  /// matters.
  private func end(_ shortfall: Shortfall, isOfSeveral: Bool) throws {
    if isOfSeveral, !output.json, let status = shortfall.failure?.exit { throw ExitCode(status) }
    if let failure = shortfall.failure { throw failure }
  }

  /// Sends without an agent.
  private func sendDirectly(to recipients: [String], until deadline: Deadline) throws {
    let target = try AccountAtServerArguments(account.account, connection, output, until: deadline)
    // A password on standard input is its first line, before the text.
    let secret = try target.passwordWithoutAgent(password, until: deadline)
    let messages = try directMessages(to: recipients, until: deadline)
    var parameters = MessageSendDirectlyMethod.Parameters(
      account: target.account, messages: messages, asksReceipts: asksReceipts,
      awaitsReceipts: wait == .delivered, timeout: deadline.secondsLeft ?? 0)
    parameters.currentPassword = secret
    parameters.options = target.options
    var shortfall = Shortfall(wait)
    do {
      _ = try OneTimeAgent.ask(
        MessageSendDirectlyMethod.self, parameters, until: deadline.ofAgent, onStep: output.show,
        onItem: { item in
          let outcome = try item.item(MessageSendMethod.Outcome.self)
          shortfall.add(outcome)
          try report(outcome)
        })
    } catch let failure as Failure where failure.name == .cancelled {
      throw Failure.cancelled(shortfall.directly(of: messages.count))
    }
    try end(shortfall, isOfSeveral: recipients.count > 1)
  }

  private func directMessages(to recipients: [String], until deadline: Deadline) throws -> [OutgoingMessage] {
    if !lines { return try wholeMessages(to: recipients, until: deadline) }
    var input = InputLines()
    var messages: [OutgoingMessage] = []
    while !input.isAtEnd {
      try StandardInput.wait(until: deadline)
      input.read()
      for line in try input.nextLines(.max, octets: .max) {
        messages += recipients.map { message(line, to: $0) }
      }
    }
    return messages
  }

  /// The messages with TEXT, or all of standard input, for each recipient.
  private func wholeMessages(to recipients: [String], until deadline: Deadline) throws -> [OutgoingMessage] {
    let body =
      try subject == nil ? InputLines.body(text, until: deadline) : text ?? InputLines.all(until: deadline)
    return recipients.map { message(body, to: $0) }
  }

  private func message(_ body: String, to recipient: String) -> OutgoingMessage {
    var message = OutgoingMessage(to: recipient, body: body.isEmpty ? nil : body)
    message.id = id ?? MessageSender.makeID()
    message.type = type.rawValue
    message.subject = subject
    message.thread = thread
    return message
  }

  /// Divides the messages into calls that are as large as the agent accepts.
  private func calls(_ messages: [OutgoingMessage]) -> [MessageSendMethod.Parameters] {
    let octets = max(messages.first?.body?.utf8.count ?? 0, 1)
    let count = max(1, min(MessageSendMethod.maximumMessages, Self.octetsOfCall / octets))
    return stride(from: 0, to: messages.count, by: count).map { start in
      var call = MessageSendMethod.Parameters(
        account: account.account, messages: Array(messages[start...].prefix(count)))
      call.wait = wait
      call.asksReceipts = asksReceipts
      return call
    }
  }

  /// The approximate size of a call's texts in octets, since lines of the agent's protocol are limited.
  private static let octetsOfCall = 300_000

  /// A call with lines.
  private func call(_ text: String, to recipient: String) -> MessageSendLinesMethod.Parameters {
    var call = MessageSendLinesMethod.Parameters(
      account: account.account, id: MessageSender.makeID(), to: recipient, text: text)
    call.type = type.rawValue
    call.subject = subject
    call.thread = thread
    call.wait = wait
    call.asksReceipts = asksReceipts
    return call
  }

  private func report(_ outcome: MessageSendMethod.Outcome) throws {
    try output.outcome(outcome)
    guard !output.json, !to.isEmpty || toFile != nil, wait != .none else { return }
    var alone = Shortfall(wait)
    alone.add(outcome)
    if let failure = alone.failure { Console.remark("\(peer: outcome.to): \(peer: failure.message)") }
  }
}

extension ChatStateSendMethod.State: ExpressibleByArgument {}
