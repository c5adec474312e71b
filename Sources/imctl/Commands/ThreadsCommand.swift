import AgentProtocol
import ArgumentParser
import Terminal

/// `imctl threads`: the threads of messages.
struct ThreadsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "threads",
    abstract: "Threads that messages belong to.",
    discussion: """
      A thread is an id that messages carry: `imctl send --thread ID` begins one or goes on with it, and \
      `imctl history --thread ID` shows its messages.
      """,
    subcommands: [ThreadsListCommand.self])
}

/// `imctl threads list`.
struct ThreadsListCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List the threads, the one with the newest message first.",
    discussion: """
      What is stored on this machine, with or without a connection; starts no agent. A line a thread: the conversation, \
      its id, how many messages it has, and when the last was sent.
      """)

  @Argument(help: ArgumentHelp("Only threads of the conversation with this one.", valueName: "JID"))
  var jid: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("At most so many threads, the newest; 0 for all.", valueName: "number"))
  var limit = 50

  @OptionGroup var options: AccountCommandOptions

  func validate() throws {
    if limit < 0 { throw ValidationError(inLanguage("The limit is negative.", "数量限制为负数。")) }
  }

  func run() throws {
    let parameters = ThreadsListMethod.Parameters(
      account: options.account.account, with: jid, limit: limit == 0 ? nil : limit)
    _ = try OneTimeAgent.ask(
      ThreadsListMethod.self, parameters, until: Deadline(options.timeout),
      onItem: { try OneTimeAgent.print($0, options.output, text: Self.text) })
  }

  private static func text(_ thread: MessageThread) -> String {
    let count = inLanguage("messages: \(thread.messages)", "消息数：\(thread.messages)")
    return "\(peer: thread.jid)  \(peer: thread.thread)  \(count)  \(thread.last)"
  }
}
