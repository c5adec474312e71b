import AgentProtocol
import ArgumentParser
import Terminal

/// `imctl conversations`: conversations and their settings.
struct ConversationsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "conversations",
    abstract: "Manage conversations: unread messages, pins, mutes, marks and deletion.",
    discussion: """
      The account's devices share this data. A change is stored immediately, even offline. If the other devices can \
      only be told later, when the session is online again, a note on standard error says so (with --json: \
      "published":false). `imctl watch` reports changes by other devices as the event conversation.
      """,
    subcommands: [
      ConversationsListCommand.self, ConversationsReadCommand.self, ConversationsPinCommand.self,
      ConversationsUnpinCommand.self, ConversationsMuteCommand.self, ConversationsUnmuteCommand.self,
      ConversationsMarkCommand.self, ConversationsClearCommand.self, ConversationsDeleteCommand.self,
    ])
}

/// `imctl conversations list`.
struct ConversationsListCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List conversations: pinned ones first, then by newest message.",
    discussion: """
      Reads the messages that are stored on this machine, so it works offline and starts no agent. Prints one line per \
      conversation: name, JID, number of messages that were read on no device of the account, settings, and the time \
      and text of the newest message.
      """)

  @Flag(help: "List only conversations with unread messages.")
  var unread = false

  @OptionGroup var options: AccountCommandOptions

  func run() throws {
    var parameters = ConversationsListMethod.Parameters(account: options.account.account, unread: unread)
    parameters.hasAppearances = !options.output.json
    let columns: [TextTable.Column] = [
      .init(inLanguage("UNREAD", "未读")), .init(inLanguage("SETTINGS", "设置")), .init(inLanguage("TIME", "时间")),
      .init(inLanguage("LAST MESSAGE", "最新消息"), .cut),
    ]
    if try !OneTimeAgent.list(ConversationsListMethod.self, parameters, columns, options, cells: Self.cells) {
      options.output.empty(
        unread
          ? inLanguage("no unread messages", "没有未读消息")
          : inLanguage("no conversations: imctl send JID TEXT", "没有会话：imctl send JID TEXT"))
    }
  }

  private static func cells(_ conversation: Conversation) -> [TextTable.Cell] {
    let last = conversation.last.flatMap { event in
      if case .message(let message) = event.body { (event.time, message) } else { nil }
    }
    // The newest message is one line, in a pipe and on a terminal.
    let text = last.map { MessageText($0.1, OutputStyle(columns: nil)).description } ?? ""
    let isSent = last?.1.direction == .out
    return [
      TextTable.Cell(conversation.unread > 0 ? String(conversation.unread) : "", .bold),
      TextTable.Cell(settings(of: conversation)),
      TextTable.Cell(last.map { LocalTime($0.0).description } ?? "", .faint),
      TextTable.Cell(isSent ? inLanguage("you: \(text)", "我：\(text)") : text),
    ]
  }

  private static func settings(of conversation: Conversation) -> String {
    var settings: [String] = []
    if conversation.pinned { settings.append(inLanguage("pinned", "已置顶")) }
    if conversation.muted { settings.append(inLanguage("muted", "已静音")) }
    settings += conversation.marks.map { "+\(peer: $0)" }
    if conversation.pending { settings.append(inLanguage("not shared yet", "尚未同步")) }
    return settings.joined(separator: ", ")
  }
}

/// The common options of the commands that change a conversation.
struct ConversationsChangeOptions: ParsableArguments {
  @OptionGroup var common: AccountCommandOptions

  /// Carries out the changes one after the other; with `--json`, prints each result.
  func run(_ changes: [ConversationsChangeMethod.Parameters]) throws {
    let deadline = Deadline(common.timeout)
    var changes = changes
    let jids = try common.recipients(changes.map(\.jid), until: deadline)
    for (index, jid) in jids.enumerated() { changes[index].jid = jid }
    try common.carryOut(
      ConversationsChangeMethod.self, changes, account: \.account, timeout: \.timeout, until: deadline
    ) { Self.note($1) }
  }

  func run(_ change: ConversationsChangeMethod.Change, _ jids: [String]) throws {
    try run(jids.map { ConversationsChangeMethod.Parameters(account: nil, change, jid: $0) })
  }

  private static func note(_ result: ConversationsChangeMethod.Result) -> String? {
    let jid = "\(peer: result.jid)"
    if let cause = result.cause {
      let why = "\(peer: cause.message)"
      if cause.name == .networkError {
        return inLanguage(
          "\(jid): stored; the other devices will be told when the server answers again: \(why)",
          "\(jid)：已保存；服务器恢复应答后通知其他设备：\(why)")
      }
      return inLanguage(
        "\(jid): stored here, but the other devices cannot be told: \(why)", "\(jid)：已保存在本机，未能通知其他设备：\(why)")
    }
    if !result.published {
      return inLanguage(
        "\(jid): stored; the other devices will be told when the session is online",
        "\(jid)：已保存；会话上线后通知其他设备")
    }
    return result.action == nil ? inLanguage("\(jid): nothing to do", "\(jid)：无需更改") : nil
  }
}

/// `imctl conversations read`.
struct ConversationsReadCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "read",
    abstract: "Mark conversations as read on all devices of the account.",
    discussion: "Only the account's own devices are told.")

  @Argument(help: ArgumentHelp("The conversations.", valueName: "JID"), completion: .contacts)
  var jids: [String]
  @OptionGroup var options: ConversationsChangeOptions
  func run() throws { try options.run(.read, jids) }
}

/// `imctl conversations pin`.
struct ConversationsPinCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pin", abstract: "Pin conversations to the top of the list.")

  @Argument(help: ArgumentHelp("The conversations.", valueName: "JID"), completion: .contacts)
  var jids: [String]
  @OptionGroup var options: ConversationsChangeOptions
  func run() throws { try options.run(.pin, jids) }
}

/// `imctl conversations unpin`.
struct ConversationsUnpinCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "unpin", abstract: "Unpin conversations.")

  @Argument(help: ArgumentHelp("The conversations.", valueName: "JID"), completion: .contacts)
  var jids: [String]
  @OptionGroup var options: ConversationsChangeOptions
  func run() throws { try options.run(.unpin, jids) }
}

/// `imctl conversations mute`.
struct ConversationsMuteCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "mute", abstract: "Mute conversations.",
    discussion: "Their messages still arrive, but clients that show notifications show none for them.")

  @Argument(help: ArgumentHelp("The conversations.", valueName: "JID"), completion: .contacts)
  var jids: [String]
  @OptionGroup var options: ConversationsChangeOptions
  func run() throws { try options.run(.mute, jids) }
}

/// `imctl conversations unmute`.
struct ConversationsUnmuteCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "unmute", abstract: "Unmute conversations.")

  @Argument(help: ArgumentHelp("The conversations.", valueName: "JID"), completion: .contacts)
  var jids: [String]
  @OptionGroup var options: ConversationsChangeOptions
  func run() throws { try options.run(.unmute, jids) }
}

/// `imctl conversations mark`.
struct ConversationsMarkCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "mark",
    abstract: "Add marks to a conversation, and remove marks.",
    discussion: """
      +WORD adds a mark, and -WORD removes one. Put marks to remove after `--`:

        imctl conversations mark bob@example.org +work -- -later
      """)

  @Argument(help: ArgumentHelp("The conversation.", valueName: "JID"), completion: .contacts)
  var jid: String

  @Argument(help: ArgumentHelp("Marks to add (+) or remove (-).", valueName: "+MARK|-MARK"))
  var marks: [String]

  @OptionGroup var options: ConversationsChangeOptions

  func validate() throws {
    for mark in marks where mark.count < 2 || (mark.first != "+" && mark.first != "-") {
      throw ValidationError(
        inLanguage("'\(mark)' is neither +MARK nor -MARK.", "“\(mark)”既不是 +标记 也不是 -标记。"))
    }
  }

  func run() throws {
    var change = ConversationsChangeMethod.Parameters(account: nil, .mark, jid: jid)
    change.adds = marks.filter { $0.first == "+" }.map { String($0.dropFirst()) }
    change.removes = marks.filter { $0.first == "-" }.map { String($0.dropFirst()) }
    try options.run([change])
  }
}

/// `imctl conversations clear`.
struct ConversationsClearCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "clear",
    abstract: "Hide all messages of conversations up to now.",
    discussion: """
      No imctl of the account shows these messages any more. They stay in the account's archive on the server, and the \
      other side keeps them. With --purge, they are first removed from that archive. This requires an ejabberd server \
      that lets the account use its API with the stored password.
      """)

  @Argument(help: ArgumentHelp("The conversations.", valueName: "JID"), completion: .contacts)
  var jids: [String]

  @Flag(help: "Also remove the messages from the account's archive on the server.")
  var purge = false

  @Option(
    help: ArgumentHelp(
      "Address of the server's API (default: https://DOMAIN:5443/api).", valueName: "url"))
  var api: String?

  @OptionGroup var options: ConversationsChangeOptions

  func validate() throws {
    if api != nil, !purge {
      throw ValidationError(inLanguage("--api requires --purge.", "--api 只能与 --purge 一起使用。"))
    }
  }

  func run() throws {
    try options.run(
      jids.map { jid in
        var change = ConversationsChangeMethod.Parameters(account: nil, .clear, jid: jid)
        if purge { change.purge = api ?? "" }
        return change
      })
  }
}

/// `imctl conversations delete`.
struct ConversationsDeleteCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete",
    abstract:
      "Delete conversations on all devices of the account.",
    discussion: """
      Deletes the messages, marks and settings of the conversations. The account's archive on the server and the other \
      side keep the messages. A new message makes the conversation appear again.
      """)

  @Argument(help: ArgumentHelp("The conversations.", valueName: "JID"), completion: .contacts)
  var jids: [String]
  @OptionGroup var options: ConversationsChangeOptions
  func run() throws { try options.run(.delete, jids) }
}
