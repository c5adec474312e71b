import AgentProtocol
import AgentStore
import ArgumentParser

/// `imctl history`: messages that were sent and received, from the local store.
struct HistoryCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "history",
    abstract: "Show messages that were sent and received.",
    discussion: """
      What is stored on this machine, with or without a connection: the newest messages, oldest first, with JID only \
      those of that conversation. With --search those that have all of the words, newest first. Starts no agent.

      A message that was corrected is shown once, with the newest text, as edited; one that was taken back as retracted. \
      With --json each correction and retraction is an event of its own, as it came.

      With --sync the agent first fetches from the archive what is missing: old messages, until there are as many as are \
      wanted.

      A TIME is an RFC 3339 one, a day such as 2026-11-21, or how long ago it is: 90s, 30m, 2h, 7d.
      """)

  @Argument(help: ArgumentHelp("Only the conversation with this one.", valueName: "JID"))
  var jid: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Only messages with all of these words, newest first.", valueName: "words"))
  var search: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("At most so many messages, the newest; 0 for all.", valueName: "number"))
  var limit = 50

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Only messages of this thread; `imctl threads list` shows them.", valueName: "id"))
  var thread: String?

  @Option(help: ArgumentHelp("Only messages before this time.", valueName: "time"))
  var before: PointInTime?

  @Option(help: ArgumentHelp("Only messages since this time.", valueName: "time"))
  var after: PointInTime?

  @Flag(
    help:
      "First fetch what is missing from the account's archive at the server; needs a session that is online.")
  var sync = false

  @OptionGroup var account: AccountOption
  @OptionGroup var output: OutputOptions

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Bound of the whole command, 0 for none.", valueName: "seconds"))
  var timeout = Timeout(seconds: 60)

  func validate() throws {
    if limit < 0 { throw ValidationError(inLanguage("The limit is negative.", "数量限制为负数。")) }
    guard let search else { return }
    if words.isEmpty { throw ValidationError(inLanguage("There is no word to search for.", "没有要搜索的词。")) }
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
    let query = try query()
    if sync { try fetch(query) } else { AgentStart.remarkOnCrash() }
    let history = try LocalHistory(path: AgentPaths.current().database)
    var isEmpty = true
    try history?.read(query, newestFirst: search != nil) { event in
      isEmpty = false
      try output.data(event, text: HistoryText(event).description)
    }
    if isEmpty, account.account != nil { try check(query.account, history) }
  }

  /// Who is not stored, as after an anonymous login, is known by its messages.
  private func check(_ account: String, _ history: LocalHistory?) throws {
    var isKnown = false
    try history?.read(HistoryQuery(account: account, limit: 1)) { _ in isKnown = true }
    if !isKnown { _ = try StoredAccounts.load().account(account) }
  }

  /// Has the agent fetch what the local store lacks for an answer.
  private func fetch(_ query: HistoryQuery) throws {
    Interrupt.install()
    var parameters = HistorySyncMethod.Parameters(
      account: query.account, with: query.peer, limit: query.limit)
    parameters.words = query.words
    parameters.after = query.after
    parameters.before = query.before
    let progress = Progress(inLanguage("fetching…", "正在获取…"), wanted: !output.quiet && !output.json)
    let answer = try AgentClient.ask(HistorySyncMethod.self, parameters, start: .never, timeout: timeout)
    progress.end()
    guard let answer else { throw Failure(.notLoggedIn, stage: .request, detail: query.account) }
    output.step(inLanguage("\(answer.fetched) messages fetched", "已获取 \(answer.fetched) 条消息"))
    if !answer.complete {
      output.note(
        inLanguage(
          "there may be older messages at the server: --sync again fetches them",
          "服务器上可能还有更早的消息：再次使用 --sync 获取"))
    }
  }

  private func query() throws -> HistoryQuery {
    let named = try account.account.map { try BareJID.normalise($0) }
    var query = HistoryQuery(account: try named ?? StoredAccounts.load().account(nil).account)
    query.peer = try jid.map {
      try HistoryQuery.peer(StoredAccounts.resolve([$0], account: query.account)[0], of: query.account)
    }
    query.thread = thread
    query.words = words
    // JSON is the events as they were.
    query.isFolded = !output.json
    query.limit = limit == 0 ? .max : limit
    query.before = before?.seconds
    query.after = after?.seconds
    return query
  }
}

/// A message as a line of text: when, which way, with whom, what.
struct HistoryText: CustomStringConvertible {
  let description: String

  init(_ event: Event) {
    guard case .message(let message) = event.body else {
      description = ""
      return
    }
    let isSent = message.direction == .out
    var peer = (isSent ? message.to : message.from) ?? event.account
    // In a room the resource is who speaks; else it is some device.
    if message.type != "groupchat" { peer = String(peer.prefix { $0 != "/" }) }
    description =
      "\(peer: event.time) \(isSent ? "->" : "<-") \(peer: peer): \(MessageText(message))"
  }
}
