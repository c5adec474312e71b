import GRDB

// Folding shows each corrected or retracted message once, in its current form.

extension StoredMessage {
  /// A condition on `messages`: the row is shown as a message. A retraction is not, nor is a correction, which is shown
  /// in the place of the corrected message.
  static let isOfItsOwn = """
    (messages.retracts IS NULL
      AND (messages.replaces IS NULL OR NOT EXISTS (\(corrected("1")))))
    """

  /// The columns that ``folded(_:_:)`` and ``found(_:_:)`` need.
  static func foldable(of table: String = "messages") -> String {
    let others = ["account", "cursor", "position", "place", "peer"].map { "\(table).\($0)" }
    return ([columns(of: table)] + others).joined(separator: ", ")
  }

  /// The maximum length of a chain of corrections. Clients correct the first message each time (XEP-0308 §5), so only
  /// an attacker makes a long chain.
  private static let maximumChain = 50

  /// Selects the messages that the row `messages` may correct: earlier ones in the same conversation.
  private static func corrected(_ columns: String) -> String {
    let others = """
      target.place < messages.place AND target.peer IS messages.peer AND target.retracts IS NULL
        AND \(HistoryQuery.isShown("target"))
      """
    let sender = "target.account = messages.account AND target.sender = messages.sender"
    return """
      SELECT \(columns) FROM messages AS target
      WHERE \(sender) AND target.originID = messages.replaces AND \(others)
      UNION ALL
      SELECT \(columns) FROM messages AS target
      WHERE \(sender) AND target.id = messages.replaces AND target.id IS NOT target.originID AND \(others)
      """
  }

  /// A message with the contents of its newest correction.
  ///
  /// - Parameter row: a row that is shown as a message, with the columns of ``foldable(of:)``.
  static func folded(_ row: Row, _ database: Database) throws -> StoredMessage {
    let newest = try newest(row, database)
    if newest === row { return shown(row) }
    var message = StoredMessage(row)
    message.apply(StoredMessage(newest))
    return message
  }

  static func folded(position: Int64, _ database: Database) throws -> StoredMessage {
    let selection = try database.cachedStatement(sql: "SELECT \(foldable()) FROM messages WHERE position = ?")
    guard let row = try Row.fetchOne(selection, arguments: [position]) else {
      throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: "no message at \(position)")
    }
    return try folded(row, database)
  }

  /// A message without corrections.
  static func shown(_ row: Row) -> StoredMessage {
    var message = StoredMessage(row)
    message.apply(message)
    return message
  }

  /// A condition on the row of a message, called `message`: a correction names its ID.
  static func isNamedByCorrection(_ message: String) -> String {
    """
    EXISTS (SELECT 1 FROM messages AS correction INDEXED BY messagesByReplaced
      WHERE correction.account = \(message).account AND correction.sender = \(message).sender
        AND correction.replaces IN (\(message).id, \(message).originID) AND correction.replaces IS NOT NULL)
    """
  }

  /// The folded message for a row whose text contains the searched words; nil where a newer correction replaced that
  /// text.
  package static func found(_ row: Row, _ database: Database) throws -> StoredMessage? {
    let first = try first(row, database)
    let newest = try newest(first, database)
    guard newest["position"] as Int64 == row["position"] else { return nil }
    var message = StoredMessage(first)
    message.apply(StoredMessage(newest))
    return message
  }

  private mutating func apply(_ newest: StoredMessage) {
    isEdited = newest.replaces != nil
    (body, subject, isEncrypted) = (newest.body, newest.subject, newest.isEncrypted)
    refusal = newest.refusal ?? refusal
    if isRetracted || newest.isRetracted { self = retracted }
  }

  /// The message that a chain of corrections starts with; the row itself where it is no correction.
  private static func first(_ row: Row, _ database: Database) throws -> Row {
    let selection = try database.cachedStatement(
      sql: """
        SELECT \(foldable(of: "first")) FROM messages AS first WHERE first.position = (
          SELECT (SELECT position FROM (\(corrected("target.position, target.place"))) ORDER BY place DESC LIMIT 1)
          FROM messages WHERE messages.position = ?)
        """)
    var first = row
    for _ in 0..<maximumChain {
      guard first["replaces"] as String? != nil,
        let earlier = try Row.fetchOne(selection, arguments: [first["position"] as Int64])
      else { break }
      first = earlier
    }
    return first
  }

  /// The newest correction of a message; the row itself where there is none.
  ///
  /// Some clients reuse an ID: a correction belongs to the last message with the ID before it.
  private static func newest(_ row: Row, _ database: Database) throws -> Row {
    let selection = try database.cachedStatement(
      sql: """
        SELECT \(foldable()) FROM messages INDEXED BY messagesByReplaced
        WHERE account = ?1 AND sender = ?2 AND replaces IN (?3, ?4) AND replaces IS NOT NULL
          AND place > ?5 AND peer IS ?6 AND retracts IS NULL
          AND place < coalesce((
            SELECT min(place) FROM messages
            WHERE account = ?1 AND sender = ?2 AND id = ?3 AND id IS NOT originID
              AND place > ?5 AND peer IS ?6 AND replaces IS NULL AND retracts IS NULL), \(Int64.max))
        ORDER BY place DESC LIMIT 1
        """)
    var newest = row
    for _ in 0..<maximumChain {
      let correction = try Row.fetchOne(
        selection,
        arguments: [
          newest["account"] as String, newest["sender"] as String, newest["id"] as String?,
          newest["originID"] as String?, newest["place"] as Int64?, newest["peer"] as String?,
        ])
      guard let correction else { break }
      newest = correction
    }
    return newest
  }
}
