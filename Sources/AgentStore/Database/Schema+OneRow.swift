import GRDB

// In version 0.1 the outbox was a separate table.

extension Schema {
  /// The migration that moves the outbox into the table of messages.
  static let oneRow = "oneRow"
  static let beforeOneRow = "copies"
  /// The number of messages changed at a time.
  private static let part = 20_000

  /// A message is one row from its acceptance on:
  /// - `position` is its key, which increases with every stored message.
  /// - `cursor` is the cursor of its event; null for a message in the outbox and for one fetched from the history.
  /// - `delivery` is its ``StoredMessage/Delivery``. Values below 0 form the outbox, which uses `since` and
  ///   `asksReceipt`. Such a message has no `place`, so that the history does not show it.
  static func mergeOutbox(_ database: Database, _ progress: (Double) -> Void) throws {
    try database.execute(
      sql: """
        ALTER TABLE messages RENAME COLUMN cursor TO position;
        ALTER TABLE messages RENAME COLUMN isFromOutbox TO delivery;
        ALTER TABLE messages ADD COLUMN cursor INTEGER;
        ALTER TABLE messages ADD COLUMN asksReceipt INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE messages ADD COLUMN since TEXT;
        """)
    try fillColumns(database) { progress(0.7 * $0) }
    // A message whose copy has come back from the server is not in the outbox any more.
    try database.execute(
      sql: """
        INSERT OR IGNORE INTO messages (account, direction, sender, time, id, originID, fromJID, toJID, type, body,
          subject, thread, isCarbon, isDelayed, isEncrypted, replaces, delivery, since, asksReceipt)
        SELECT account, 1, account, accepted, id, id, account, toJID, type, body, subject, thread, 0, 0, 0, replaces,
          CASE isSent WHEN 0 THEN -2 ELSE -1 END, since, asksReceipt
        FROM outbox ORDER BY position;
        DROP TABLE outbox;
        CREATE INDEX outbox ON messages (account, position, delivery, id) WHERE delivery < 0;
        """)
    let indexes = [
      "CREATE UNIQUE INDEX messagesByCursor ON messages (cursor) WHERE cursor IS NOT NULL",
      """
      DROP INDEX messagesByPlace;
      CREATE UNIQUE INDEX messagesByPlace ON messages (place) WHERE place IS NOT NULL
      """,
      """
      DROP INDEX messagesByPeer;
      CREATE INDEX messagesByPeer ON messages (account, peer, place) WHERE place IS NOT NULL
      """,
    ]
    for (number, index) in indexes.enumerated() {
      progress(0.7 + 0.1 * Double(number))
      try database.execute(sql: index)
    }
    progress(1)
  }

  /// Before this migration, the cursor of an event was the key of its message, and messages from the history had keys
  /// below 0.
  private static func fillColumns(_ database: Database, _ progress: (Double) -> Void) throws {
    let count = try Int.fetchOne(database, sql: "SELECT count(*) FROM messages WHERE position > 0") ?? 0
    var last: Int64 = 0
    for done in stride(from: 0, to: count, by: part) {
      progress(Double(done) / Double(count))
      let next = try Int64.fetchOne(
        database, sql: "SELECT position FROM messages WHERE position > ? ORDER BY position LIMIT 1 OFFSET ?",
        arguments: [last, part - 1])
      try database.execute(
        sql: """
          UPDATE messages SET cursor = position, delivery = CASE delivery WHEN 0 THEN 0 ELSE coalesce(
            (SELECT CASE kind WHEN 'delivered' THEN 2 WHEN 'displayed' THEN 3 WHEN 'failed' THEN 4 ELSE 1 END
              FROM receipts WHERE receipts.account = messages.account AND receipts.id = messages.originID
              ORDER BY receipts.cursor DESC LIMIT 1), 1) END
          WHERE position > ? AND position <= ?
          """, arguments: [last, next ?? .max])
      last = next ?? .max
    }
  }
}
