import GRDB

// The stored state of the accounts' archives.

/// A gap between two stored parts of an archive.
package struct ArchiveGap: Sendable, Equatable {
  /// The archive IDs of the messages around the gap; `after` is empty at the start of the archive.
  package var after: String
  package var before: String

  package init(after: String, before: String) {
    self.after = after
    self.before = before
  }

  package static func oldest(of account: String, _ database: Database) throws -> ArchiveGap? {
    let row = try Row.fetchOne(
      database, sql: "SELECT after, before FROM gaps WHERE account = ? ORDER BY number LIMIT 1",
      arguments: [account])
    return row.map { ArchiveGap(after: $0["after"], before: $0["before"]) }
  }

  package func save(of account: String, _ database: Database) throws {
    try database.execute(
      sql: """
        INSERT INTO gaps (account, after, before) VALUES (?1, ?2, ?3)
        ON CONFLICT (account, before) DO UPDATE SET after = ?2
        """, arguments: [account, after, before])
  }

  /// Removes a gap that was filled.
  package func remove(of account: String, _ database: Database) throws {
    try database.execute(
      sql: "DELETE FROM gaps WHERE account = ? AND before = ?", arguments: [account, before])
  }
}

/// The oldest message from which on the history is stored without a gap.
package struct ArchiveStart: Sendable, Equatable {
  /// The archive ID of the message.
  package var id: String
  /// The time of the message in seconds since 1970, if it is stored.
  package var time: Double?

  package init(id: String, time: Double? = nil) {
    self.id = id
    self.time = time
  }

  /// The start for the whole archive or one conversation; nil where it is unknown.
  ///
  /// A conversation starts with the oldest of its stored messages, because every fetch continues it. The whole archive
  /// needs a stored start, since some conversations may reach further back.
  package static func load(_ account: String, with peer: String?, _ database: Database) throws
    -> ArchiveStart?
  {
    if peer == nil,
      let id = try String.fetchOne(
        database, sql: "SELECT archiveStart FROM streams WHERE account = ?", arguments: [account])
    {
      return ArchiveStart(id: id, time: try time(of: id, account, database))
    }
    // Messages fetched from the history have no cursor.
    let (index, condition) =
      peer == nil ? ("messagesByPlace", "cursor IS NOT NULL") : ("messagesByPeer", "peer = ?2")
    let row = try Row.fetchOne(
      database,
      sql: """
        SELECT archiveID, time FROM messages INDEXED BY \(index)
        WHERE account = ?1 AND archiveID IS NOT NULL AND place IS NOT NULL AND \(condition)
        ORDER BY place LIMIT 1
        """, arguments: peer.map { [account, $0] } ?? [account])
    return row.map { ArchiveStart(id: $0["archiveID"], time: $0["time"]) }
  }

  package static func save(_ id: String, of account: String, _ database: Database) throws {
    try database.execute(
      sql: """
        INSERT INTO streams (account, archiveStart) VALUES (?1, ?2)
        ON CONFLICT (account) DO UPDATE SET archiveStart = ?2
        """, arguments: [account, id])
  }

  /// The time of an archived message, if it is stored; seconds since 1970.
  package static func time(of id: String, _ account: String, _ database: Database) throws -> Double? {
    try Double.fetchOne(
      database, sql: "SELECT time FROM messages WHERE account = ? AND archiveID = ?",
      arguments: [account, id])
  }

  /// The time of the first message that was received live, in seconds since 1970.
  package static func firstTime(of account: String, _ database: Database) throws -> Double? {
    try load(account, with: nil, database)?.time
  }
}

extension StoredMessage {
  /// Removes the archive IDs of all messages, because the account has no archive.
  package static func forgetArchiveIDs(of account: String, _ database: Database) throws {
    try database.execute(
      sql: """
        UPDATE messages SET archiveID = NULL, secondArchiveID = NULL
        WHERE account = ? AND archiveID IS NOT NULL
        """,
      arguments: [account])
  }

  /// Stores messages of the history, oldest first, before the stored ones; returns the number of new ones. They cause
  /// no events, so that watchers do not take them for news.
  package static func insertPast(_ messages: [StoredMessage], _ account: String, _ database: Database) throws
    -> Int
  {
    var count = 0
    for message in messages.reversed() {
      guard let id = message.retracts, !messages.contains(where: { $0.isCalled(id, by: message.sender) }),
        try !isKnown(id, of: message.sender, account, database)
      else {
        if try message.insert(account, cursor: nil, database) != nil { count += 1 }
        continue
      }
      try message.saveUnmatched(account, database)
    }
    return count
  }

  /// Stores a retraction of an unknown message, which then arrives without its contents if it is fetched later. It
  /// causes no event and has no place in the history.
  package func saveUnmatched(_ account: String, _ database: Database) throws {
    var aside = self
    aside.subject = nil
    _ = try aside.insert(account, cursor: nil, isShown: false, database)
  }

  package func isCalled(_ id: String, by sender: String) -> Bool {
    self.sender == sender && (self.id == id || originID == id)
  }
}
