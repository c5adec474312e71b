import AgentProtocol
import FoundationEssentials
import GRDB
import XMPPFeatures
import XMPPStanza
import XMPPXML

// The settings of conversations, and the changes to them that were not sent to the server yet.

extension LocalStore {
  /// The tables with data about conversations, each with an account column.
  static let conversationTables = [
    "conversations", "conversationEdits", "bookmarks", "sharing", "conversationEvents",
    "forgottenConversationEvents",
  ]
}

/// A change to a conversation that a command has made.
package struct ConversationEdit: Sendable, Equatable {
  package enum Kind: Sendable, Equatable {
    case pinned(Bool)
    case notification(NotificationSetting?)
    case mark(String, Bool)
    case hiddenBefore(Double)
    /// The conversation was deleted; other changes apply after the deletion.
    case deleted
    /// The archived message with this ID and all before it were read.
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

  /// Whether the change belongs to the conversation's settings, not to its displayed marker.
  package var isSetting: Bool { if case .displayed = kind { false } else { true } }

  /// Whether the change is part of a room's bookmark.
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

  /// Removes a change that the server has, unless another value was set meanwhile.
  package func remove(_ jid: String, of account: String, _ database: Database) throws {
    try database.execute(
      sql: "DELETE FROM conversationEdits WHERE account = ? AND jid = ? AND kind = ? AND value = ?",
      arguments: [account, jid, text.kind, text.value])
  }

  /// The unpublished changes of a conversation; a deletion comes before the others.
  package static func load(_ jid: String, of account: String, _ database: Database) throws
    -> [ConversationEdit]
  {
    try Row.fetchAll(
      database,
      sql: "SELECT kind, value FROM conversationEdits WHERE account = ? AND jid = ? ORDER BY kind",
      arguments: [account, jid]
    ).compactMap { ConversationEdit(kind: $0["kind"], value: $0["value"]) }
  }

  /// The conversations with unpublished changes.
  package static func jids(of account: String, _ database: Database) throws -> [String] {
    try String.fetchAll(
      database, sql: "SELECT DISTINCT jid FROM conversationEdits WHERE account = ?", arguments: [account])
  }
}

/// The stored state of a conversation.
package struct StoredConversation: Sendable, Equatable {
  package var settings = ConversationSettings()
  /// The place of the last message that was read.
  package var readPlace: Int64?
  /// The archive ID of the last displayed message, which may not be stored yet.
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

  /// Sets the settings; returns the events of the change.
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

  /// Advances the read position to a message that another device has displayed; returns whether that is further.
  package mutating func markRead(through id: String, _ account: String, _ database: Database) throws -> Bool {
    let place = try Int64.fetchOne(
      database,
      sql: "SELECT place FROM messages WHERE account = ?1 AND (archiveID = ?2 OR secondArchiveID = ?2)",
      arguments: [account, id])
    guard let place else {
      // The message may still arrive.
      displayed = id
      return false
    }
    guard place > readPlace ?? .min else { return false }
    displayed = id
    readPlace = place
    return true
  }

  /// The conversations whose last displayed message was not stored when its marker arrived.
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
  /// Applies settings from the server or another device. Unpublished changes stay. Returns the events of the change.
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
  /// Deletes the contents of a conversation's messages. Their IDs stay, so that copies are recognised. Messages in the
  /// outbox are not part of the history and stay.
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
  /// Applies the change to the payload of a bookmark.
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

  /// Stores the bookmark and the settings in it.
  package func saveWithSettings(of account: String, by device: String, _ database: Database) throws
    -> [ConversationEvent]
  {
    try save(of: account, database)
    return try StoredConversation.change(jid.description, of: account, by: device, database) { settings in
      settings.isPinned = isPinned
      settings.notification = notification
    }
  }

  /// Removes a bookmark and resets the settings that it contained.
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
