import AgentProtocol
import AgentStore
import ArgumentParser

/// `imctl threads`: what the messages of a conversation are about.
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
    Deadline(options.timeout).endProcess(waitingFor: AccountCommand.store, json: options.output.json)
    let named = try options.account.account.map { try BareJID.normalise($0) }
    let account = try named ?? StoredAccounts.load().account(nil).account
    let peer = try jid.map {
      try HistoryQuery.peer(StoredAccounts.resolve([$0], account: account)[0], of: account)
    }
    let threads = try StoredThreads.list(
      account, with: peer, limit: limit == 0 ? .max : limit, at: AgentPaths.current().database)
    for thread in threads { try options.output.data(thread, text: Self.text(thread)) }
    // Who is not stored, as after an anonymous login, is known by its messages.
    if threads.isEmpty, named != nil { _ = try StoredAccounts.load().account(account) }
  }

  private static func text(_ thread: StoredThread) -> String {
    let count = inLanguage("messages: \(thread.messages)", "消息数：\(thread.messages)")
    return "\(peer: thread.jid)  \(peer: thread.thread)  \(count)  \(thread.last)"
  }
}
