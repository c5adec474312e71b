import GRDB

// What is known of the accounts' archives at their servers.

/// What lies between two parts of an archive that are stored, and is not.
package struct ArchiveGap: Sendable, Equatable {
  /// Ids of the messages around it; empty before the first one of the archive.
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

  /// It is filled.
  package func remove(of account: String, _ database: Database) throws {
    try database.execute(
      sql: "DELETE FROM gaps WHERE account = ? AND before = ?", arguments: [account, before])
  }
}

/// The oldest message up to which the past is stored without a hole.
package struct ArchiveStart: Sendable, Equatable {
  /// Its id in the archive.
  package var id: String
  /// Seconds since 1970, where it is stored.
  package var time: Double?

  package init(id: String, time: Double? = nil) {
    self.id = id
    self.time = time
  }

  /// Of the whole archive, or of one conversation; nil where nothing is known.
  ///
  /// A conversation begins with the oldest of its messages: whatever is fetched continues it. Of the whole archive
  /// that is not so, since some conversations may reach back further: how far it was read is kept.
  package static func load(_ account: String, with peer: String?, _ database: Database) throws
    -> ArchiveStart?
  {
    if peer == nil,
      let id = try String.fetchOne(
        database, sql: "SELECT archiveStart FROM streams WHERE account = ?", arguments: [account])
    {
      return ArchiveStart(id: id, time: try time(of: id, account, database))
    }
    // What was fetched out of the past is no event, and has no cursor.
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

  /// When a message of the archive was sent, where it is stored; seconds since 1970.
  package static func time(of id: String, _ account: String, _ database: Database) throws -> Double? {
    try Double.fetchOne(
      database, sql: "SELECT time FROM messages WHERE account = ? AND archiveID = ?",
      arguments: [account, id])
  }

  /// When the first message came that was no past one; seconds since 1970.
  package static func firstTime(of account: String, _ database: Database) throws -> Double? {
    try load(account, with: nil, database)?.time
  }
}

extension StoredMessage {
  /// The account has no archive: no message has an id in it.
  package static func forgetArchiveIDs(of account: String, _ database: Database) throws {
    try database.execute(
      sql: """
        UPDATE messages SET archiveID = NULL, secondArchiveID = NULL
        WHERE account = ? AND archiveID IS NOT NULL
        """,
      arguments: [account])
  }

  /// Keeps messages of the past, oldest first, before all that is there; gives how many were new. They are no events:
  /// nobody who follows them takes them for news.
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

  /// Keeps a retraction of what is not known: that may come out of the past still, and then says nothing. Nobody is
  /// told, and it has no place in the history.
  package func saveUnmatched(_ account: String, _ database: Database) throws {
    var aside = self
    aside.subject = nil
    _ = try aside.insert(account, cursor: nil, isShown: false, database)
  }

  package func isCalled(_ id: String, by sender: String) -> Bool {
    self.sender == sender && (self.id == id || originID == id)
  }
}
