import AgentProtocol
import ArgumentParser

/// `imctl send`: hands a message, or a line each, to the server.
struct SendCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "send",
    abstract: "Send a message, or a message a line.",
    discussion: """
      TEXT, or all of standard input. Exit status 0: the server has acknowledged it. What is not acknowledged in \
      time stays queued, is sent as soon as the account is online, and makes the exit status 87. A message whose \
      --id was used before for the same message is not sent again.
      """)

  @Argument(help: ArgumentHelp("Whom it is for.", valueName: "JID"))
  var to: String

  @Argument(help: ArgumentHelp("The message; without it standard input is read.", valueName: "TEXT"))
  var text: String?

  @Flag(help: "Send every line of standard input as a message.")
  var lines = false

  @Option(
    help: ArgumentHelp(
      "What to wait for: server, its acknowledgement; none, that the message is stored.", valueName: "what"))
  var wait = MessageSendMethod.Wait.server

  @Option(help: ArgumentHelp("Subject of the message.", valueName: "text"))
  var subject: String?

  @Option(help: ArgumentHelp("Thread that the message belongs to.", valueName: "id"))
  var thread: String?

  @Option(help: ArgumentHelp("chat, normal, headline or groupchat.", valueName: "type"))
  var type: MessageType = .chat

  @Option(help: ArgumentHelp("Id of the message; made up without it.", valueName: "id"))
  var id: String?

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
    if text?.isEmpty == true { throw ValidationError(inLanguage("The text is empty.", "文本为空。")) }
  }

  func run() throws {
    Interrupt.install()
    let deadline = Deadline(timeout ?? Timeout(seconds: lines ? 0 : 30))
    var parameters = MessageSendMethod.Parameters(account: account.account, messages: [])
    parameters.wait = wait
    let sender = MessageSender(parameters, isBounded: timeout != nil || !lines, until: deadline)
    if lines {
      var input = InputLines(limit: OutgoingMessage.maximumText)
      try sender.send(from: &input, make: message, report: report)
    } else {
      let body = try text ?? InputLines.all(limit: OutgoingMessage.maximumText, until: deadline)
      guard !body.isEmpty || subject != nil else {
        throw Failure.invalid(inLanguage("there is no text", "没有文本"))
      }
      try sender.send([message(body)], report: report)
    }
    if sender.queued > 0, wait == .server { throw Failure.unconfirmed(sender.queued) }
  }

  private func message(_ body: String) -> OutgoingMessage {
    var message = OutgoingMessage(to: to, body: body.isEmpty ? nil : body)
    message.id = id ?? MessageSender.makeID()
    message.type = type.rawValue
    message.subject = subject
    message.thread = thread
    return message
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

extension Failure {
  /// Messages stay queued: exit status 87.
  static func unconfirmed(_ count: Int) -> Failure {
    Failure(
      .deliveryUnconfirmed, stage: .request, detail: inLanguage("messages: \(count)", "消息数：\(count)"))
  }
}
