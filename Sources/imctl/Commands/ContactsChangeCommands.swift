import AgentProtocol
import ArgumentParser
import Terminal

// The commands that change the contact list and the block list. They share one method of the agent.

/// The common options of these commands.
struct ContactsChangeOptions: ParsableArguments {
  @OptionGroup var common: AccountCommandOptions

  /// Carries out the changes one after the other; with `--json`, prints each result.
  func run(_ changes: [ContactsChangeMethod.Parameters]) throws {
    let deadline = Deadline(common.timeout)
    var changes = changes
    let jids = try common.recipients(changes.compactMap(\.jid), until: deadline)
    if jids.count == changes.count { for (index, jid) in jids.enumerated() { changes[index].jid = jid } }
    try common.carryOut(
      ContactsChangeMethod.self, changes, account: \.account, timeout: \.timeout, until: deadline,
      note: Self.note)
  }

  func run(_ change: ContactsChangeMethod.Change, _ jids: [String]) throws {
    try run(jids.map { ContactsChangeMethod.Parameters(account: nil, change, jid: $0) })
  }

  private static func note(
    _ change: ContactsChangeMethod.Parameters, _ result: ContactsChangeMethod.Result
  ) -> String? {
    let jid = "\(peer: result.jid ?? "")"
    switch (change.change, result.action) {
    case (_, nil): return inLanguage("\(jid): nothing to do", "\(jid)：无需更改")
    case (.add, _) where change.asks:
      return inLanguage(
        "\(jid) was asked; you see its presence as soon as it accepts", "已向 \(jid) 发出请求：对方接受后显示其状态")
    case (_, .approve?):
      return inLanguage(
        "\(jid) has not asked yet; its request will be approved when it arrives", "\(jid) 尚未请求：对方请求时将自动接受")
    default: return nil
    }
  }
}

/// `imctl contacts add`.
struct ContactsAddCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "add",
    abstract: "Add a contact and ask to see their presence.",
    discussion: "If the contact exists already, the given name and groups replace the old ones.")

  @Argument(help: ArgumentHelp("The contact.", valueName: "JID"), completion: .contacts)
  var jid: String

  @Option(help: ArgumentHelp("The display name of the contact.", valueName: "NAME"))
  var name: String?

  @Option(help: ArgumentHelp("Add the contact to this group. Can be repeated.", valueName: "GROUP"))
  var group: [String] = []

  @Option(help: ArgumentHelp("Send this text with the request.", valueName: "TEXT"))
  var message: String?

  @Flag(help: "Do not ask to see the contact's presence.")
  var noRequest = false

  @OptionGroup var options: ContactsChangeOptions

  func validate() throws {
    if noRequest, message != nil {
      throw ValidationError(
        inLanguage("--no-request and --message cannot be used together.", "--no-request 和 --message 不能同时使用。"))
    }
  }

  func run() throws {
    var change = ContactsChangeMethod.Parameters(account: nil, .add, jid: jid)
    change.name = name
    if !group.isEmpty { change.groups = group }
    change.text = message
    change.asks = !noRequest
    try options.run([change])
  }
}

/// `imctl contacts remove`.
struct ContactsRemoveCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove",
    abstract: "Remove contacts, and stop sharing presence in both directions.")

  @Argument(help: ArgumentHelp("The contacts.", valueName: "JID"), completion: .contacts)
  var jid: [String]

  @OptionGroup var options: ContactsChangeOptions

  func run() throws { try options.run(.remove, jid) }
}

/// `imctl contacts rename`.
struct ContactsRenameCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rename",
    abstract: "Change or remove the display name of a contact.")

  @Argument(help: ArgumentHelp("The contact.", valueName: "JID"), completion: .contacts)
  var jid: String

  @Argument(help: ArgumentHelp("The new display name. If omitted, the name is removed.", valueName: "NAME"))
  var name: String?

  @OptionGroup var options: ContactsChangeOptions

  func run() throws {
    var change = ContactsChangeMethod.Parameters(account: nil, .rename, jid: jid)
    change.name = name
    try options.run([change])
  }
}

/// `imctl contacts group`.
struct ContactsGroupCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "group",
    abstract: "Change the groups of a contact.",
    discussion: """
      With GROUP arguments, the contact is in these groups and in no others. With --add and --remove, its other groups \
      stay. With --clear, it is in no group.
      """)

  @Argument(help: ArgumentHelp("The contact.", valueName: "JID"), completion: .contacts)
  var jid: String

  @Argument(help: ArgumentHelp("All groups of the contact.", valueName: "GROUP"))
  var groups: [String] = []

  @Option(help: ArgumentHelp("Add the contact to this group. Can be repeated.", valueName: "GROUP"))
  var add: [String] = []

  @Option(help: ArgumentHelp("Remove the contact from this group. Can be repeated.", valueName: "GROUP"))
  var remove: [String] = []

  @Flag(help: "Remove the contact from all groups.")
  var clear = false

  @OptionGroup var options: ContactsChangeOptions

  func validate() throws {
    let ways = [!groups.isEmpty, !add.isEmpty || !remove.isEmpty, clear].count { $0 }
    if ways != 1 {
      throw ValidationError(
        inLanguage(
          "Specify groups, --add and --remove, or --clear.", "请指定群组，或使用 --add 和 --remove，或使用 --clear。"))
    }
  }

  func run() throws {
    var change = ContactsChangeMethod.Parameters(account: nil, .group, jid: jid)
    if clear || !groups.isEmpty { change.groups = groups }
    change.adds = add
    change.removes = remove
    try options.run([change])
  }
}

/// `imctl contacts approve`.
struct ContactsApproveCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "approve",
    abstract: "Let people see your presence.",
    discussion: """
      If somebody has not asked yet, the request is approved when it arrives, if the server supports this (RFC 6121 \
      §3.4).
      """)

  @Argument(help: ArgumentHelp("The JIDs of the people.", valueName: "JID"), completion: .contacts)
  var jid: [String]

  @OptionGroup var options: ContactsChangeOptions

  func run() throws { try options.run(.approve, jid) }
}

/// `imctl contacts deny`.
struct ContactsDenyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "deny",
    abstract: "Decline requests to see your presence, or withdraw an approval.")

  @Argument(help: ArgumentHelp("The JIDs of the people.", valueName: "JID"), completion: .contacts)
  var jid: [String]

  @OptionGroup var options: ContactsChangeOptions

  func run() throws { try options.run(.deny, jid) }
}

/// `imctl contacts block`.
struct ContactsBlockCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "block",
    abstract: "Block JIDs or whole domains, in both directions.")

  @Argument(help: ArgumentHelp("The JIDs or domains.", valueName: "JID"), completion: .contacts)
  var jid: [String]

  @OptionGroup var options: ContactsChangeOptions

  func run() throws { try options.run(.block, jid) }
}

/// `imctl contacts unblock`.
struct ContactsUnblockCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "unblock",
    abstract: "Unblock JIDs or whole domains.")

  @Argument(help: ArgumentHelp("The JIDs or domains.", valueName: "JID"), completion: .contacts)
  var jid: [String] = []

  @Flag(help: "Unblock everything that is blocked.")
  var all = false

  @OptionGroup var options: ContactsChangeOptions

  func validate() throws {
    if all == !jid.isEmpty {
      throw ValidationError(inLanguage("Specify JIDs or --all.", "请指定 JID，或使用 --all。"))
    }
  }

  func run() throws {
    if all {
      try options.run([ContactsChangeMethod.Parameters(account: nil, .unblockAll, jid: nil)])
    } else {
      try options.run(.unblock, jid)
    }
  }
}
