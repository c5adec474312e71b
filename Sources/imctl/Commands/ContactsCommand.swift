import AgentProtocol
import ArgumentParser
import Terminal

/// `imctl contacts`: the contact list, presence subscriptions and the block list.
struct ContactsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "contacts",
    abstract: "Manage contacts, presence requests and blocked JIDs.",
    discussion: """
      The commands list, requests and blocked also work offline: they show the data that the server sent last, and a \
      note on standard error says that it may be out of date (with --json: "stale":true). Changes require a session \
      that is online (otherwise exit status 67), and are complete when the command ends.
      """,
    subcommands: [
      ContactsListCommand.self, ContactsAddCommand.self, ContactsRemoveCommand.self,
      ContactsRenameCommand.self, ContactsGroupCommand.self, ContactsApproveCommand.self,
      ContactsDenyCommand.self, ContactsRequestsCommand.self, ContactsBlockCommand.self,
      ContactsUnblockCommand.self, ContactsBlockedCommand.self,
    ])
}

/// `imctl contacts list`.
struct ContactsListCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List the contacts, sorted by JID.",
    discussion: """
      Prints one line per contact: name, JID, who sees whose presence (none, to, from or both), groups, and the \
      presence of the contact's devices.
      """)

  @Option(help: ArgumentHelp("List only contacts in this group.", valueName: "GROUP"))
  var group: String?

  @Flag(help: "List only contacts that are online.")
  var online = false

  @OptionGroup var options: AccountCommandOptions

  func run() throws {
    let deadline = Deadline(options.timeout)
    let list =
      try AgentClient.session(start: .once, until: deadline) { agent in
        try contacts { after in
          try agent.answer(
            to: agent.send(ContactsListMethod.self, .init(account: options.account.account, after: after)))
        }
      } ?? (contacts: [], isStale: false)
    try show(list.contacts, until: deadline)
    if list.contacts.isEmpty {
      options.output.empty(
        group == nil && !online
          ? inLanguage("no contacts: imctl contacts add JID", "没有联系人：imctl contacts add JID")
          : inLanguage("no matching contacts: imctl contacts list", "没有符合条件的联系人：imctl contacts list"))
    }
    if list.isStale { ContactsCommand.noteStale(options.output) }
  }

  /// The contacts of all pages, and whether they may be out of date.
  private func contacts(
    _ next: (String?) throws -> ContactsListMethod.Result
  ) throws -> (contacts: [Contact], isStale: Bool) {
    var contacts: [Contact] = []
    var after: String?
    while true {
      let page = try next(after)
      contacts += page.contacts.filter(matches)
      after = page.contacts.last?.jid
      if !page.more || after == nil { return (contacts, page.stale) }
    }
  }

  private func show(_ contacts: [Contact], until deadline: Deadline) throws {
    let columns =
      TextTable.Column.nameAndJID + [
        .init(inLanguage("SUBSCRIPTION", "订阅")), .init(inLanguage("GROUPS", "分组"), .cut),
        .init(inLanguage("PRESENCE", "状态"), .cut),
      ]
    let appearances = Appearances(until: deadline)
    appearances.loadColors(of: contacts.map(\.jid), account: options.account.account, options.output)
    try options.output.list(contacts, columns) { contact in
      var appearance = appearances.known(contact.jid, account: options.account.account)
      appearance.name = contact.name
      return appearance.nameAndJID + Self.cells(contact)
    }
  }

  private static func cells(_ contact: Contact) -> [TextTable.Cell] {
    var subscription = [contact.subscription]
    if contact.ask != nil { subscription.append(inLanguage("asked", "已请求")) }
    if contact.approved { subscription.append(inLanguage("approved", "已预先批准")) }
    if contact.blocked { subscription.append(inLanguage("blocked", "已屏蔽")) }
    let presence = contact.presence.map { presence in
      [presence.resource, StatusText.presence(presence.show, presence.status, presence.priority)]
        .compactMap(\.self).map { "\(peer: $0)" }.joined(separator: ": ")
    }
    return [
      TextTable.Cell(subscription.map { "\(peer: $0)" }.joined(separator: ", ")),
      TextTable.Cell(contact.groups.map { "\(peer: $0)" }.joined(separator: ", ")),
      TextTable.Cell(presence.joined(separator: "; ")),
    ]
  }

  private func matches(_ contact: Contact) -> Bool {
    (group.map(contact.groups.contains) ?? true) && (!online || !contact.presence.isEmpty)
  }
}

/// `imctl contacts requests`.
struct ContactsRequestsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "requests",
    abstract: "List people who ask to see your presence, oldest request first.",
    discussion: "A request stays until it is approved or denied, on this device or another one.")

  @OptionGroup var options: AccountCommandOptions

  func run() throws {
    let result =
      try AgentClient.answer(
        to: ContactRequestsMethod.self, .init(account: options.account.account),
        until: Deadline(options.timeout))
    try options.output.list(
      result.requests,
      [
        .init("JID"), .init(inLanguage("TIME", "时间")), .init(inLanguage("LOOKS LIKE", "看起来像")),
        .init(inLanguage("TEXT", "附言"), .wrapped),
      ]
    ) { request in
      [
        TextTable.Cell("\(peer: request.jid)"),
        TextTable.Cell(LocalTime(request.received).description, .faint),
        TextTable.Cell("\(peer: request.looksLike ?? "")"), TextTable.Cell("\(peer: request.text ?? "")"),
      ]
    }
    if result.requests.isEmpty {
      options.output.empty(inLanguage("nobody asks to see your presence", "没有人请求查看您的状态"))
    }
    if result.stale { ContactsCommand.noteStale(options.output) }
  }
}

/// `imctl contacts blocked`.
struct ContactsBlockedCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "blocked",
    abstract: "List the blocked JIDs and domains, sorted.")

  @OptionGroup var options: AccountCommandOptions

  func run() throws {
    let result =
      try AgentClient.answer(
        to: ContactsBlockedMethod.self, .init(account: options.account.account),
        until: Deadline(options.timeout))
    for entry in result.blocked { try options.output.data(entry, text: "\(peer: entry.jid)") }
    if result.blocked.isEmpty {
      options.output.empty(
        inLanguage("nobody is blocked: imctl contacts block JID", "没有屏蔽任何人：imctl contacts block JID"))
    }
    if result.stale { ContactsCommand.noteStale(options.output) }
  }
}

extension ContactsCommand {
  /// Notes that the output may be out of date; with `--json`, every object says so.
  static func noteStale(_ output: OutputOptions) {
    output.note(inLanguage("not online: this data may be out of date", "未在线：以下数据可能已过时"))
  }
}
