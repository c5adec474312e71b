import AgentProtocol
import FoundationEssentials
import GRDB
import XMPPFeatures
import XMPPStanza
import XMPPXML

// What belongs to conversations and to no message of them, and what of it is still to be told to the server.

extension LocalStore {
  /// The tables that hold something of conversations, by account.
  static let conversationTables = [
    "conversations", "conversationEdits", "bookmarks", "sharing", "conversationEvents",
    "forgottenConversationEvents",
  ]
}

/// Something that a command has set of a conversation.
package struct ConversationEdit: Sendable, Equatable {
  package enum Kind: Sendable, Equatable {
    case pinned(Bool)
    case notification(NotificationSetting?)
    case mark(String, Bool)
    case hiddenBefore(Double)
    /// What else is set comes after that.
    case deleted
    /// A message of the archive, and all before it, was read.
    case displayed(String)
  }

  package var kind: Kind

  package init(_ kind: Kind) { self.kind = kind }

  package func apply(to settings: inout ConversationSettings) {
    switch kind {
    case .pinned(let isPinned):
      settings.isPinned = isPinned
      settings.isDeleted = false
    case .notification(let setting):
      settings.notification = setting
      settings.isDeleted = false
    case .mark(let mark, let isSet):
      var marks = Set(settings.marks)
      if isSet { marks.insert(mark) } else { marks.remove(mark) }
      settings.marks = marks.sorted()
      settings.isDeleted = false
    case .hiddenBefore(let time): settings.hiddenBefore = max(time, settings.hiddenBefore ?? time)
    case .deleted:
      let hidden = settings.hiddenBefore
      settings = ConversationSettings()
      settings.hiddenBefore = hidden
      settings.isDeleted = true
    case .displayed: break
    }
  }

  /// It belongs to the item of the conversation, not to what says how far it was read.
  package var isSetting: Bool { if case .displayed = kind { false } else { true } }

  /// It goes into the bookmark of a room.
  package var isOfBookmark: Bool {
    switch kind {
    case .pinned, .notification: true
    default: false
    }
  }

  private var text: (kind: String, value: String) {
    switch kind {
    case .pinned(let isPinned): ("pinned", isPinned ? "1" : "0")
    case .notification(let setting): ("notification", setting?.rawValue ?? "")
    case .mark(let mark, let isSet): ("mark \(mark)", isSet ? "1" : "0")
    case .hiddenBefore(let time): ("hiddenBefore", String(time))
    case .deleted: ("deleted", "")
    case .displayed(let id): ("displayed", id)
    }
  }

  private init?(kind: String, value: String) {
    switch kind {
    case "pinned": self.init(.pinned(value == "1"))
    case "notification": self.init(.notification(NotificationSetting(rawValue: value)))
    case "hiddenBefore":
      guard let time = Double(value) else { return nil }
      self.init(.hiddenBefore(time))
    case "deleted": self.init(.deleted)
    case "displayed": self.init(.displayed(value))
    default:
      guard kind.hasPrefix("mark ") else { return nil }
      self.init(.mark(String(kind.dropFirst(5)), value == "1"))
    }
  }

  package func save(_ jid: String, of account: String, _ database: Database) throws {
    if kind == .deleted {
      try database.execute(
        sql: "DELETE FROM conversationEdits WHERE account = ? AND jid = ? AND kind <> 'displayed'",
        arguments: [account, jid])
    }
    try database.execute(
      sql: "INSERT OR REPLACE INTO conversationEdits (account, jid, kind, value) VALUES (?, ?, ?, ?)",
      arguments: [account, jid, text.kind, text.value])
  }

  /// The server has it, unless something else was set meanwhile.
  package func remove(_ jid: String, of account: String, _ database: Database) throws {
    try database.execute(
      sql: "DELETE FROM conversationEdits WHERE account = ? AND jid = ? AND kind = ? AND value = ?",
      arguments: [account, jid, text.kind, text.value])
  }

  /// What the server does not have of a conversation: what belongs to others comes behind that it was deleted.
  package static func load(_ jid: String, of account: String, _ database: Database) throws
    -> [ConversationEdit]
  {
    try Row.fetchAll(
      database,
      sql: "SELECT kind, value FROM conversationEdits WHERE account = ? AND jid = ? ORDER BY kind",
      arguments: [account, jid]
    ).compactMap { ConversationEdit(kind: $0["kind"], value: $0["value"]) }
  }

  /// The conversations of which the server does not have everything.
  package static func jids(of account: String, _ database: Database) throws -> [String] {
    try String.fetchAll(
      database, sql: "SELECT DISTINCT jid FROM conversationEdits WHERE account = ?", arguments: [account])
  }
}

/// What is kept of a conversation.
package struct StoredConversation: Sendable, Equatable {
  package var settings = ConversationSettings()
  /// The place of the last message that was read.
  package var readPlace: Int64?
  /// Its id in the archive, or of one that is not stored yet.
  package var displayed: String?

  package static func load(_ jid: String, of account: String, _ database: Database) throws
    -> StoredConversation
  {
    let row = try Row.fetchOne(
      database, sql: "SELECT * FROM conversations WHERE account = ? AND jid = ?", arguments: [account, jid])
    return row.map(StoredConversation.init) ?? StoredConversation()
  }

  package init() {}

  package init(_ row: Row) {
    settings.isPinned = row["isPinned"]
    settings.notification = (row["notification"] as String?).flatMap(NotificationSetting.init)
    let marks: String = row["marks"]
    settings.marks = marks.split(separator: "\n").map(String.init)
    settings.hiddenBefore = row["hiddenBefore"]
    settings.isDeleted = row["isDeleted"]
    readPlace = row["readPlace"]
    displayed = row["displayed"]
  }

  package func save(_ jid: String, of account: String, _ database: Database) throws {
    try database.execute(
      sql: """
        INSERT OR REPLACE INTO conversations
          (account, jid, isPinned, notification, marks, hiddenBefore, isDeleted, readPlace, displayed)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
      arguments: [
        account, jid, settings.isPinned, settings.notification?.rawValue,
        settings.marks.joined(separator: "\n"), settings.hiddenBefore, settings.isDeleted, readPlace,
        displayed,
      ])
  }

  /// Takes over settings; what has changed by it.
  package mutating func apply(_ new: ConversationSettings, _ jid: String, by device: String)
    -> [ConversationEvent]
  {
    let old = settings
    settings = new
    func event(_ action: ConversationEvent.Action, marks: [String]? = nil) -> ConversationEvent {
      ConversationEvent(action, jid: jid, by: device, marks: marks)
    }
    let hides = (new.hiddenBefore ?? 0) > (old.hiddenBefore ?? 0)
    if new.isDeleted { return hides || !old.isDeleted ? [event(.delete)] : [] }
    var events: [ConversationEvent] = []
    if hides { events.append(event(.historyRemoved)) }
    if new.isPinned != old.isPinned { events.append(event(new.isPinned ? .pinned : .unpinned)) }
    let (isMuted, wasMuted) = (new.notification == .never, old.notification == .never)
    if isMuted != wasMuted { events.append(event(isMuted ? .mute : .unmute)) }
    if new.marks != old.marks { events.append(event(.mark, marks: new.marks)) }
    return events
  }

  /// Takes over how far another device has read, where that is further; whether it is.
  package mutating func markRead(through id: String, _ account: String, _ database: Database) throws -> Bool {
    let place = try Int64.fetchOne(
      database,
      sql: "SELECT place FROM messages WHERE account = ?1 AND (archiveID = ?2 OR secondArchiveID = ?2)",
      arguments: [account, id])
    guard let place else {
      // It may be on its way.
      displayed = id
      return false
    }
    guard place > readPlace ?? .min else { return false }
    displayed = id
    readPlace = place
    return true
  }

  /// The conversations whose last read message was not stored when it was told of.
  package static func unresolved(of account: String, _ database: Database) throws -> [String] {
    try String.fetchAll(
      database,
      sql: """
        SELECT conversations.jid FROM conversations JOIN messages
          ON messages.account = conversations.account AND messages.archiveID = conversations.displayed
        WHERE conversations.account = ? AND messages.place > coalesce(conversations.readPlace, -1)
        """, arguments: [account])
  }
}

extension Bookmark {
  package func save(of account: String, _ database: Database) throws {
    try database.execute(
      sql: """
        INSERT OR REPLACE INTO bookmarks (account, jid, name, nick, password, joins)
        VALUES (?, ?, ?, ?, ?, ?)
        """, arguments: [account, jid.description, name, nick, password, joins])
  }

  package static func remove(_ jid: String, of account: String, _ database: Database) throws {
    try database.execute(
      sql: "DELETE FROM bookmarks WHERE account = ? AND jid = ?", arguments: [account, jid])
  }

  package static func isKept(_ jid: String, of account: String, _ database: Database) throws -> Bool {
    try Row.fetchOne(
      database, sql: "SELECT 1 FROM bookmarks WHERE account = ? AND jid = ?", arguments: [account, jid])
      != nil
  }
}

extension StoredConversation {
  /// Takes over what the server, or another device, says of a conversation: what is still to be told to the server
  /// stays. Gives what has changed.
  package static func change(
    _ jid: String, of account: String, by device: String, _ database: Database,
    _ body: (inout ConversationSettings) throws -> Void
  ) throws -> [ConversationEvent] {
    var stored = try load(jid, of: account, database)
    var settings = stored.settings
    try body(&settings)
    for edit in try ConversationEdit.load(jid, of: account, database) { edit.apply(to: &settings) }
    let events = stored.apply(settings, jid, by: device)
    try stored.save(jid, of: account, database)
    if settings.isDeleted, let time = settings.hiddenBefore {
      try StoredMessage.forgetContent(of: jid, until: time, account, database)
    }
    return events
  }
}

extension StoredMessage {
  /// Removes what is in the messages of a conversation; what tells them from others stays, so that they do not come again.
  /// What waits to be sent is not in the history yet.
  package static func forgetContent(
    of peer: String, until time: Double, _ account: String, _ database: Database
  ) throws {
    try database.execute(
      sql: """
        UPDATE messages SET body = NULL, subject = NULL
        WHERE account = ? AND peer = ? AND place IS NOT NULL AND time <= ? AND (body IS NOT NULL OR subject IS NOT NULL)
        """, arguments: [account, peer, time])
  }
}

extension ConversationEdit {
  /// The payload of a bookmark with what was set.
  package func bookmark(_ payload: XMLElement) -> XMLElement {
    switch kind {
    case .pinned(let isPinned): Bookmark.payload(payload, isPinned: isPinned, notification: nil)
    case .notification(let setting):
      Bookmark.payload(payload, isPinned: nil, notification: .some(setting))
    default: payload
    }
  }
}

extension Bookmark {
  package static func jids(of account: String, _ database: Database) throws -> [String] {
    try String.fetchAll(database, sql: "SELECT jid FROM bookmarks WHERE account = ?", arguments: [account])
  }

  /// Keeps the bookmark, and what it says of the conversation.
  package func saveWithSettings(of account: String, by device: String, _ database: Database) throws
    -> [ConversationEvent]
  {
    try save(of: account, database)
    return try StoredConversation.change(jid.description, of: account, by: device, database) { settings in
      settings.isPinned = isPinned
      settings.notification = notification
    }
  }

  /// The bookmark is gone, and what it has said of the conversation.
  package static func forget(
    _ jid: String, of account: String, by device: String, _ database: Database
  ) throws -> [ConversationEvent] {
    try remove(jid, of: account, database)
    return try StoredConversation.change(jid, of: account, by: device, database) { settings in
      settings.isPinned = false
      settings.notification = nil
    }
  }
}
