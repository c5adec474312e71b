import AgentProtocol
import ArgumentParser

/// `imctl edit`: replaces the text of a sent message.
struct EditCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "edit",
    abstract: "Correct a sent message.",
    discussion: """
      Replaces the text of the message ID, or with --last of the newest message to JID. The new text is TEXT, or all \
      of standard input. Clients that support corrections (XEP-0308) replace the old text; others show a new message.

      The exit status is that of `imctl send`, or 64 if no such message was sent to JID.
      """)

  @Argument(help: ArgumentHelp("The recipient of the message.", valueName: "JID"), completion: .contacts)
  var recipient: String

  @Argument(
    help: ArgumentHelp("ID of the message (not with --last), and the new text.", valueName: "ID-TEXT"))
  var words: [String] = []

  @Flag(help: "Correct the newest message to JID.")
  var last = false

  @OptionGroup var waiting: WaitOption
  @OptionGroup var account: AccountOption
  @OptionGroup var output: OutputOptions

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Stop after this many seconds (0: never).", valueName: "seconds"))
  var timeout = Timeout(seconds: 30)

  func validate() throws {
    if recipient.isEmpty { throw ValidationError(inLanguage("The JID is empty.", "JID 为空。")) }
    if words.count > (last ? 1 : 2) {
      throw ValidationError(
        inLanguage("There is more than one text; put quotes around it.", "文本多于一个：请用引号括起。"))
    }
    if !last, words.isEmpty {
      throw ValidationError(inLanguage("Missing ID or --last.", "缺少 ID 或 --last。"))
    }
    if words.contains("") { throw ValidationError(inLanguage("The ID or the text is empty.", "id 或文本为空。")) }
  }

  func run() throws {
    Interrupt.install()
    let text = try words.count > (last ? 0 : 1) ? words.last : output.typedText()
    let deadline = Deadline(timeout)
    let body = try InputLines.body(text, until: deadline)
    let recipients = try RecipientNames.resolve([recipient], account: account.account, until: deadline)
    var message = OutgoingMessage(to: recipients[0], body: body)
    message.id = MessageSender.makeID()
    message.corrects = last ? .last : .message(words[0])
    var call = MessageSendMethod.Parameters(account: account.account, messages: [message])
    call.wait = waiting.wait
    let sender = MessageSender(call.wait, isBounded: true, until: deadline)
    try sender.send([call], report: output.outcome)
    if call.wait != .none, let failure = sender.shortfall.failure { throw failure }
  }
}
