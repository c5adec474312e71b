import AgentProtocol
import ArgumentParser
import Synchronization

/// `imctl send`: hands a message, or a line each, to the server.
struct SendCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "send",
    abstract: "Send a message, or a message a line.",
    discussion: """
      TEXT, or all of standard input. Exit status 0: the server has acknowledged it; with --wait delivered a client \
      of the recipient has confirmed it. What is not acknowledged in time stays queued, is sent as soon as the \
      account is online, and makes the exit status 87, as a missing confirmation does; a refusal by the recipient's \
      side makes it 74. A message whose --id was used before for the same message is not sent again.

      With --direct no agent is asked or started: a stream of its own is opened with what is stored of the account \
      or given now, without presence, and closed when the server has everything. Nothing is queued then.
      """)

  @Argument(help: ArgumentHelp("Whom it is for.", valueName: "JID"))
  var to: String

  @Argument(help: ArgumentHelp("The message; without it standard input is read.", valueName: "TEXT"))
  var text: String?

  @Flag(
    help:
      "Send every line of standard input as a message; clients of the recipient confirm them with --wait delivered only."
  )
  var lines = false

  @Option(
    help: ArgumentHelp(
      """
      What to wait for: server, its acknowledgement; delivered, that of a client of the recipient; none, that the \
      message is stored.
      """, valueName: "what"))
  var wait = MessageSendMethod.Wait.server

  @Option(help: ArgumentHelp("Subject of the message.", valueName: "text"))
  var subject: String?

  @Option(help: ArgumentHelp("Thread that the message belongs to.", valueName: "id"))
  var thread: String?

  @Option(help: ArgumentHelp("chat, normal, headline or groupchat.", valueName: "type"))
  var type: MessageType = .chat

  @Option(help: ArgumentHelp("Id of the message; made up without it.", valueName: "id"))
  var id: String?

  @Flag(help: "Send on a short stream of its own, without an agent.")
  var direct = false

  @OptionGroup(title: "Password, with --direct") var password: PasswordOptions
  @OptionGroup(title: "Connection, with --direct") var connection: ConnectionArguments
  @OptionGroup var account: AccountOption
  @OptionGroup var output: OutputOptions

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Bound of the whole command, 0 for none; 30 without it, with --lines 30 for every acknowledgement.",
      valueName: "seconds"))
  var timeout: Timeout?

  enum MessageType: String, ExpressibleByArgument, CaseIterable { case chat, normal, headline, groupchat }

  func validate() throws {
    if to.isEmpty { throw ValidationError(inLanguage("The JID is empty.", "JID 为空。")) }
    if lines, text != nil || id != nil {
      throw ValidationError(
        inLanguage(
          "--lines reads the messages from standard input, and makes their ids.", "--lines 从标准输入读取消息并自动生成 id。"
        ))
    }
    if id?.isEmpty == true { throw ValidationError(inLanguage("The id is empty.", "id 为空。")) }
    if let id, id.utf8.count > OutgoingMessage.maximumID {
      throw ValidationError(inLanguage("The id is too long.", "id 过长。"))
    }
    if wait == .delivered, [.headline, .groupchat].contains(type) {
      throw ValidationError(
        inLanguage("Nobody confirms messages of this type.", "此类型的消息没有送达回执。"))
    }
    if direct {
      if wait == .none {
        throw ValidationError(
          inLanguage(
            "--direct stores no messages: --wait none is not possible.", "--direct 不存储消息：不能使用 --wait none。"))
      }
    } else if connection.isGiven || password.isGiven {
      throw ValidationError(
        inLanguage("Options of a password or connection need --direct.", "密码和连接选项需要 --direct。"))
    }
    if text?.isEmpty == true { throw ValidationError(inLanguage("The text is empty.", "文本为空。")) }
  }

  /// Thousands of lines are not to be answered by as many receipts that nobody waits for.
  private var asksReceipts: Bool { !lines || wait == .delivered }

  func run() throws {
    Interrupt.install()
    let deadline = Deadline(timeout ?? Timeout(seconds: lines ? 0 : 30))
    if direct { return try sendDirectly(until: deadline) }
    let sender = MessageSender(wait, isBounded: timeout != nil || !lines, until: deadline)
    if lines {
      var input = InputLines()
      try sender.send(from: &input, make: call, report: report)
    } else {
      var parameters = MessageSendMethod.Parameters(
        account: account.account, messages: [try wholeMessage(until: deadline)])
      parameters.wait = wait
      parameters.asksReceipts = asksReceipts
      try sender.send(parameters, report: report)
    }
    if wait != .none { try sender.shortfall.check() }
  }

  /// Without an agent.
  private func sendDirectly(until deadline: Deadline) throws {
    let target = try AccountAtServerArguments(account.account, connection, output)
    // It is the first line of standard input, where it is there.
    let secret = try target.passwordWithoutAgent(password, until: deadline)
    let messages = try directMessages(until: deadline)
    let shortfall = Mutex(Shortfall(wait))
    try target.withoutAgent(secret, until: deadline) { [wait, asksReceipts] account throws(Failure) in
      try await account.send(
        messages, asksReceipts: asksReceipts,
        awaitingReceipts: wait == .delivered ? (deadline.secondsLeft ?? 0) : nil
      ) { outcome in
        shortfall.withLock { $0.add(outcome) }
        try report(outcome)
      }
    }
    try shortfall.withLock { $0 }.check()
  }

  private func directMessages(until deadline: Deadline) throws -> [OutgoingMessage] {
    if !lines { return [try wholeMessage(until: deadline)] }
    var input = InputLines()
    var messages: [OutgoingMessage] = []
    while !input.isAtEnd {
      try StandardInput.wait(until: deadline)
      input.read()
      messages += try input.take(.max, octets: .max).map(message)
    }
    return messages
  }

  /// TEXT, or all of standard input.
  private func wholeMessage(until deadline: Deadline) throws -> OutgoingMessage {
    let body = try text ?? InputLines.all(until: deadline)
    guard !body.isEmpty || subject != nil else {
      throw Failure.invalid(inLanguage("there is no text", "没有文本"))
    }
    return message(body)
  }

  private func message(_ body: String) -> OutgoingMessage {
    var message = OutgoingMessage(to: to, body: body.isEmpty ? nil : body)
    message.id = id ?? MessageSender.makeID()
    message.type = type.rawValue
    message.subject = subject
    message.thread = thread
    return message
  }

  /// Lines as the agent takes them.
  private func call(_ text: String) -> MessageSendLinesMethod.Parameters {
    var call = MessageSendLinesMethod.Parameters(
      account: account.account, id: MessageSender.makeID(), to: to, text: text)
    call.type = type.rawValue
    call.subject = subject
    call.thread = thread
    call.wait = wait
    call.asksReceipts = asksReceipts
    return call
  }

  private func report(_ outcome: MessageSendMethod.Outcome) throws {
    if output.json {
      try output.data(outcome, text: "")
    } else {
      output.step("\(outcome.id) \(outcome.state.rawValue)")
    }
  }
}

extension MessageSendMethod.Wait: ExpressibleByArgument {}

/// What is missing of what a command waits for.
struct Shortfall: Sendable {
  private let wait: MessageSendMethod.Wait
  private var missing = 0
  private var error: Failure?

  init(_ wait: MessageSendMethod.Wait) { self.wait = wait }

  mutating func add(_ outcome: MessageSendMethod.Outcome) {
    if let error = outcome.error {
      self.error = self.error ?? error
    } else if outcome.state == .queued || (wait == .delivered && outcome.state == .sent) {
      missing += 1
    }
  }

  /// Throws where anything is: a refusal before what is only late.
  func check() throws {
    if let error { throw error }
    if missing > 0 { throw Failure.unconfirmed(missing) }
  }
}

extension Failure {
  /// Messages stay queued: exit status 87.
  static func unconfirmed(_ count: Int) -> Failure {
    Failure(
      .deliveryUnconfirmed, stage: .request, detail: inLanguage("messages: \(count)", "消息数：\(count)"))
  }
}
