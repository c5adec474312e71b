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
      Prints one line per contact: JID, name, groups, who sees whose presence (none, to, from or both), and the \
      presence of the contact's devices.
      """)

  @Option(help: ArgumentHelp("List only contacts in this group.", valueName: "GROUP"))
  var group: String?

  @Flag(help: "List only contacts that are online.")
  var online = false

  @OptionGroup var options: AccountCommandOptions

  func run() throws {
    let deadline = Deadline(options.timeout)
    let (isEmpty, isStale) =
      try AgentClient.session(start: .once, until: deadline) { agent in
        try pages { after in
          try agent.answer(
            to: agent.send(ContactsListMethod.self, .init(account: options.account.account, after: after)))
        }
      } ?? (true, false)
    if isEmpty {
      options.output.empty(
        group == nil && !online
          ? inLanguage("no contacts: imctl contacts add JID", "没有联系人：imctl contacts add JID")
          : inLanguage("no matching contacts: imctl contacts list", "没有符合条件的联系人：imctl contacts list"))
    }
    if isStale { ContactsCommand.noteStale(options.output) }
  }

  /// Prints all pages. Returns whether they were empty, and whether they may be out of date.
  private func pages(
    _ next: (String?) throws -> ContactsListMethod.Result
  ) throws -> (isEmpty: Bool, isStale: Bool) {
    var after: String?
    var isEmpty = true
    while true {
      let page = try next(after)
      for contact in page.contacts where matches(contact) {
        isEmpty = false
        try options.output.data(contact, text: ContactText(contact).description)
      }
      after = page.contacts.last?.jid
      if !page.more || after == nil { return (isEmpty, page.stale) }
    }
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
    for entry in result.requests {
      let text = entry.text.map { " \"\(peer: $0)\"" } ?? ""
      let note = entry.looksLike.map { inLanguage(" (looks like \(peer: $0))", "（看起来像 \(peer: $0)）") } ?? ""
      try options.output.data(entry, text: "\(peer: entry.jid)\(note) \(peer: entry.received)\(text)")
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

/// A contact as a line of text.
struct ContactText: CustomStringConvertible {
  let description: String

  init(_ contact: Contact) {
    var parts = ["\(peer: contact.jid)"]
    if let name = contact.name { parts.append("\"\(peer: name)\"") }
    if !contact.groups.isEmpty {
      parts.append("[" + contact.groups.map { "\(peer: $0)" }.joined(separator: ", ") + "]")
    }
    parts.append("\(peer: contact.subscription)")
    if contact.ask != nil { parts.append(inLanguage("asked", "已请求")) }
    if contact.approved { parts.append(inLanguage("approved", "已预先批准")) }
    if contact.blocked { parts.append(inLanguage("blocked", "已屏蔽")) }
    for presence in contact.presence {
      let resource = presence.resource.map { "/\(peer: $0) " } ?? ""
      parts.append(resource + StatusText.presence(presence.show, presence.status, presence.priority))
    }
    description = parts.joined(separator: "  ")
  }
}
