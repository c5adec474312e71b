import AgentProtocol
import ArgumentParser
import Terminal

/// `imctl history`: messages that were sent and received, from the local store.
struct HistoryCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "history",
    abstract: "Show the message history.",
    discussion: """
      Reads the messages that are stored on this machine, so it works offline and starts no agent. Shows the newest \
      messages, oldest first. With --search, shows the messages that contain all of the words, newest first.

      A corrected message is shown once, with its newest text, and marked as edited. A retracted message is marked as \
      retracted. With --json, each correction and each retraction is an event of its own.

      With --sync, the agent first fetches missing messages from the archive on the server, until there are as many \
      messages as requested.

      A time is in RFC 3339 format, a day such as 2026-11-21, or an age: 90s, 30m, 2h, 7d.
      """)

  @Argument(
    help: ArgumentHelp("Show only the conversation with this JID.", valueName: "JID"), completion: .contacts)
  var jid: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Show only messages that contain all of these words, newest first.", valueName: "words"))
  var search: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Show at most this many messages, the newest ones (0: all).", valueName: "number"))
  var limit = 50

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Show only messages of this thread; `imctl threads list` lists the threads.", valueName: "id"))
  var thread: String?

  @Option(help: ArgumentHelp("Show only messages before this time.", valueName: "time"))
  var before: PointInTime?

  @Option(help: ArgumentHelp("Show only messages since this time.", valueName: "time"))
  var after: PointInTime?

  @Flag(
    help:
      """
      First fetch missing messages from the account's archive on the server. Requires a session that is online.
      """)
  var sync = false

  @OptionGroup var account: AccountOption
  @OptionGroup var output: OutputOptions

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Stop after this many seconds (0: never).", valueName: "seconds"))
  var timeout = Timeout(seconds: 60)

  func validate() throws {
    if limit < 0 { throw ValidationError(inLanguage("The limit is negative.", "数量限制为负数。")) }
    guard let search else { return }
    if words.isEmpty { throw ValidationError(inLanguage("There are no words to search for.", "没有要搜索的词。")) }
    if words.count > HistorySyncMethod.maximumWords
      || search.unicodeScalars.count > HistorySyncMethod.maximumText
    {
      throw ValidationError(
        inLanguage(
          "At most \(HistorySyncMethod.maximumWords) words and \(HistorySyncMethod.maximumText) characters can be searched for.",
          "最多可搜索 \(HistorySyncMethod.maximumWords) 个词、\(HistorySyncMethod.maximumText) 个字符。"))
    }
  }

  private var words: [String] { (search ?? "").split { $0.isWhitespace || $0 == "\0" }.map(String.init) }

  func run() throws {
    let parameters = parameters
    if sync { try fetch(parameters) } else { AgentStart.remarkOnCrash() }
    var table = MessageTable(output.style, namesRecipients: jid == nil)
    _ = try OneTimeAgent.ask(
      HistoryReadMethod.self, parameters, until: Deadline(Timeout(seconds: 0)),
      onItem: { reply in
        if output.json { return output.forward(reply) }
        output.lines(table.add(try reply.item(Shown<Event>.self)))
      })
    output.lines(table.finish())
  }

  private var parameters: HistoryReadMethod.Parameters {
    var parameters = HistoryReadMethod.Parameters(account: account.account)
    parameters.with = jid
    parameters.thread = thread
    parameters.words = words
    // JSON output has the original events.
    parameters.isFolded = !output.json
    parameters.hasAppearances = !output.json
    parameters.newestFirst = search != nil
    parameters.limit = limit == 0 ? nil : limit
    parameters.before = before?.seconds
    parameters.after = after?.seconds
    return parameters
  }

  /// The conversation that a word denotes: a bare JID, or the full JID of another device of the account.
  private func peer(_ word: String, of account: String, until deadline: Deadline) throws -> String {
    let jids = try RecipientNames.resolve([word], account: account, asksAgent: false, until: deadline)
    let answer = try OneTimeAgent.ask(RecipientsNormaliseMethod.self, .init(jids: jids), until: deadline)
    guard let full = answer.first else { throw Failure.noAgentSpeaks }
    let bare = String(full.prefix { $0 != "/" })
    return bare == account ? full : bare
  }

  /// Makes the agent fetch the messages that the local store lacks for a query.
  private func fetch(_ query: HistoryReadMethod.Parameters) throws {
    Interrupt.install()
    let deadline = Deadline(timeout)
    let account = try OneTimeAgent.ask(
      AccountResolveMethod.self, .init(account: query.account), until: deadline
    ).account
    let peer = try query.with.map { try self.peer($0, of: account, until: deadline) }
    var parameters = HistorySyncMethod.Parameters(account: account, with: peer, limit: query.limit ?? .max)
    parameters.words = query.words
    parameters.after = query.after
    parameters.before = query.before
    let progress = Progress(inLanguage("fetching…", "正在获取…"), wanted: !output.quiet && !output.json)
    let answer = try AgentClient.session(start: .never, until: deadline) {
      try $0.answer(to: $0.send(HistorySyncMethod.self, parameters))
    }
    progress.end()
    guard let answer else { throw Failure(.notLoggedIn, stage: .request, detail: .text(account)) }
    output.step(inLanguage("\(answer.fetched) messages fetched", "已获取 \(answer.fetched) 条消息"))
    if !answer.complete {
      output.note(
        inLanguage(
          "there may be older messages on the server; run the command with --sync again to fetch them",
          "服务器上可能还有更早的消息：再次使用 --sync 获取"))
    }
  }
}
