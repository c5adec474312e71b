import AgentProtocol
import ArgumentParser
import Terminal

/// `imctl threads`: the threads of messages.
struct ThreadsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "threads",
    abstract: "Show message threads.",
    discussion: """
      A thread is an ID that messages carry. `imctl send --thread ID` starts or continues a thread, and `imctl history \
      --thread ID` shows its messages.
      """,
    subcommands: [ThreadsListCommand.self])
}

/// `imctl threads list`.
struct ThreadsListCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List threads, the one with the newest message first.",
    discussion: """
      Reads the messages that are stored on this machine, so it works offline and starts no agent. Prints one line per \
      thread: name and JID of the conversation, ID of the thread, number of messages, and time of the newest message.
      """)

  @Argument(
    help: ArgumentHelp("Show only threads of the conversation with this JID.", valueName: "JID"),
    completion: .contacts)
  var jid: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Show at most this many threads, the newest ones (0: all).", valueName: "number"))
  var limit = 50

  @OptionGroup var options: AccountCommandOptions

  func validate() throws {
    if limit < 0 { throw ValidationError(inLanguage("The limit is negative.", "数量限制为负数。")) }
  }

  func run() throws {
    var parameters = ThreadsListMethod.Parameters(
      account: options.account.account, with: jid, limit: limit == 0 ? nil : limit)
    parameters.hasAppearances = !options.output.json
    let columns: [TextTable.Column] = [
      .init(inLanguage("THREAD", "话题")), .init(inLanguage("MESSAGES", "消息数")),
      .init(inLanguage("LAST", "最新")),
    ]
    if try !OneTimeAgent.list(ThreadsListMethod.self, parameters, columns, options, cells: Self.cells) {
      options.output.empty(
        inLanguage("no threads: imctl send --thread ID JID TEXT", "没有话题：imctl send --thread ID JID TEXT"))
    }
  }

  private static func cells(_ thread: MessageThread) -> [TextTable.Cell] {
    [
      TextTable.Cell("\(peer: thread.thread)"), TextTable.Cell(String(thread.messages)),
      TextTable.Cell(LocalTime(thread.last).description, .faint),
    ]
  }
}
