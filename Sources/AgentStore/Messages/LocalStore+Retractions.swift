import GRDB

// The contents of a retracted message are deleted.

extension StoredMessage {
  /// Deletes the contents of a message and its corrections. A message in the outbox is still sent as accepted and loses
  /// its contents then.
  package static func retract(
    _ id: String, of sender: String, _ account: String, _ database: Database
  ) throws {
    let removal = try database.cachedStatement(
      sql: """
        UPDATE messages SET body = NULL, subject = NULL, isRetracted = 1
        WHERE retracts IS NULL AND delivery >= 0 AND position IN (
          SELECT position FROM messages WHERE account = ?1 AND sender = ?2 AND originID = ?3
          UNION ALL
          SELECT position FROM messages WHERE account = ?1 AND sender = ?2 AND id = ?3 AND id IS NOT originID
          UNION ALL
          SELECT position FROM messages WHERE account = ?1 AND sender = ?2 AND replaces = ?3)
        """)
    try removal.execute(arguments: [account, sender, id])
  }

  /// The message without its contents.
  var retracted: StoredMessage {
    var message = self
    (message.body, message.subject, message.isRetracted, message.isEdited) = (nil, nil, true, false)
    return message
  }

  /// Whether the sender has retracted the message before it arrived.
  package func isTakenBack(_ account: String, _ database: Database) throws -> Bool {
    let selection = try database.cachedStatement(
      sql: "SELECT 1 FROM messages WHERE account = ? AND sender = ? AND retracts IN (?, ?, ?)")
    return try Row.fetchOne(selection, arguments: [account, sender, id, originID, replaces]) != nil
  }
}
