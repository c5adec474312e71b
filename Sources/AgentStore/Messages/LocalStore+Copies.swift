import GRDB

// Finds copies of a message that have no ID of their own to identify them.

extension StoredMessage {
  /// How a copy of a message has arrived.
  ///
  /// A server delivers a message from the account to itself twice to each device, as sent and as received, and archives
  /// it twice under two IDs. Whatever IDs the sender uses, two messages that arrived in the same way are different
  /// messages, and one that arrived in another way is a copy.
  package enum Copy: Int, Sendable {
    case direct = 1
    /// A carbon of a message that another device has sent.
    case sent = 2
    /// A carbon of a message that another device has received.
    case received = 4
    /// A result of the archive.
    case archived = 8
  }

  /// The seconds within which the copies of a message arrive, including the difference between clocks.
  private static let spread = 60.0

  /// The position of a stored message with the same ID and contents that arrived in another way.
  func counterpart(_ account: String, _ database: Database) throws -> Int64? {
    guard let copy, originID == nil, type != .error else { return nil }
    if !isToOneself { return copy == .archived ? try withoutArchiveID(account, database) : nil }
    if let archiveID {
      let known = try database.cachedStatement(
        sql: "SELECT position FROM messages WHERE account = ?1 AND (archiveID = ?2 OR secondArchiveID = ?2)")
      if let position = try Int64.fetchOne(known, arguments: [account, archiveID]) { return position }
    }
    // The two copies in the archive have different archive IDs.
    let isMissing = copy == .archived ? "1" : "copies & \(copy.rawValue) = 0"
    let selection = try database.cachedStatement(
      sql: """
        SELECT position FROM messages INDEXED BY messagesToOneself
        WHERE account = ?1 AND copies IS NOT NULL AND time BETWEEN ?2 AND ?3 AND id IS ?4 AND type = ?5
          AND (body IS ?6 OR isRetracted) AND retracts IS ?7 AND \(isMissing)
          AND (?8 IS NULL OR secondArchiveID IS NULL)
        ORDER BY time, position LIMIT 1
        """)
    return try Int64.fetchOne(
      selection,
      arguments: [
        account, time - Self.spread, time + Self.spread, id, type.rawValue, body, retracts, archiveID,
      ])
  }

  /// The position of a live message whose archive ID was not known.
  private func withoutArchiveID(_ account: String, _ database: Database) throws -> Int64? {
    guard let id else { return nil }
    let selection = try database.cachedStatement(
      sql: """
        SELECT position FROM messages
        WHERE account = ?1 AND sender = ?2 AND id = ?3 AND id IS NOT originID AND archiveID IS NULL
          AND time BETWEEN ?4 AND ?5 AND type = ?6 AND (body IS ?7 OR isRetracted) AND retracts IS ?8
        ORDER BY time, position LIMIT 1
        """)
    return try Int64.fetchOne(
      selection,
      arguments: [account, sender, id, time - Self.spread, time + Self.spread, type.rawValue, body, retracts])
  }

  /// Whether another message has the archive ID already, which then does not come from the archive.
  func isArchiveIDOfAnother(_ account: String, _ database: Database) throws -> Bool {
    let selection = try database.cachedStatement(
      sql: """
        SELECT 1 FROM messages
        WHERE account = ? AND archiveID = ? AND NOT (sender = ? AND id IS ? AND (body IS ? OR isRetracted))
        """)
    return try Row.fetchOne(selection, arguments: [account, archiveID, sender, id, body]) != nil
  }

  /// Records the arrival of this copy, and its archive ID, with the stored message.
  package func complete(_ position: Int64, _ database: Database) throws {
    if isToOneself, let copy {
      let noting = try database.cachedStatement(
        sql: "UPDATE messages SET copies = copies | ? WHERE position = ? AND copies IS NOT NULL")
      try noting.execute(arguments: [copy.rawValue, position])
    }
    guard let archiveID else { return }
    let completion = try database.cachedStatement(
      sql: "UPDATE OR IGNORE messages SET archiveID = ? WHERE position = ? AND archiveID IS NULL")
    try completion.execute(arguments: [archiveID, position])
    if database.changesCount > 0 || !isToOneself { return }
    let second = try database.cachedStatement(
      sql: """
        UPDATE OR IGNORE messages SET secondArchiveID = ?1
        WHERE position = ?2 AND archiveID IS NOT ?1 AND secondArchiveID IS NULL AND copies IS NOT NULL
        """)
    try second.execute(arguments: [archiveID, position])
  }
}
