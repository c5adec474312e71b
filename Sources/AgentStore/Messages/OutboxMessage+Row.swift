import AgentProtocol
import FoundationEssentials
import GRDB
import XMPPFeatures
import XMPPStanza

// Accepted messages that the server has not acknowledged: the rows with a `delivery` below 0. Their sender is the
// account, even if the server uses another name for it.

extension OutboxMessage {
  /// The result of accepting a message.
  package enum Acceptance: Sendable, Equatable {
    /// The message waits under this position.
    case accepted(Int64)
    /// The same message was accepted before and waits.
    case waiting
    /// The same message was accepted before, and the server has it; with the last receipt of its recipient.
    case sent(ReceiptEvent?)
    /// Another message has the ID.
    case idTaken
  }

  /// Selects messages by ID, in the outbox or acknowledged. `?1`: the account, `?2`: the ID, `?3`: the account's bare
  /// JID, `?4`: the ID in its unique form.
  private static let known = """
    SELECT delivery, toJID, body, subject FROM messages WHERE account = ?1 AND sender IN (?1, ?3) AND originID = ?2
    UNION ALL
    SELECT delivery, toJID, body, subject FROM messages
    WHERE account = ?1 AND sender = ?3 AND id = ?4 AND id IS NOT originID
    """

  /// The given IDs for which messages were accepted.
  package static func accepted(
    _ ids: [String], of account: String, own: String, _ database: Database
  ) throws -> [String] {
    let selection = try database.cachedStatement(sql: "SELECT EXISTS (\(known))")
    return try ids.filter { id in
      try Bool.fetchOne(selection, arguments: [account, id, own, StanzaID.unique(id)]) == true
    }
  }

  /// Stores the message in the outbox, once per ID.
  package func accept(_ account: String, own: String, _ database: Database) throws -> Acceptance {
    let known = try database.cachedStatement(sql: Self.known)
    if let row = try Row.fetchOne(known, arguments: [account, id, own, StanzaID.unique(id)]) {
      let isSame =
        row["toJID"] == to.description && row["body"] as String? == body
        && row["subject"] as String? == subject
      guard isSame else { return .idTaken }
      let delivery = StoredMessage.Delivery(rawValue: row["delivery"]) ?? .elsewhere
      if delivery.rawValue < 0 { return .waiting }
      return .sent(try StoredReceipt.last(of: id, delivery, account, database))
    }
    return .accepted(try insert(account, database))
  }

  /// Whether messages with some of these IDs may have been accepted before, because stored IDs lie between them.
  package static func mayBeKnown(_ ids: [String], of account: String, own: String, _ database: Database)
    throws
    -> Bool
  {
    let isBefore = { (one: String, other: String) in one.utf8.lexicographicallyPrecedes(other.utf8) }
    let selection = try database.cachedStatement(
      sql: """
        SELECT EXISTS (
          SELECT 1 FROM messages
          WHERE account = ?1 AND sender IN (?1, ?2) AND originID >= ?3 AND originID <= ?4)
        OR EXISTS (
          SELECT 1 FROM messages
          WHERE account = ?1 AND sender = ?2 AND id >= ?3 AND id <= ?4 AND id IS NOT originID)
        """)
    return try Bool.fetchOne(
      selection, arguments: [account, own, ids.min(by: isBefore), ids.max(by: isBefore)]) != false
  }

  /// Stores a message with a new ID; returns its position.
  package func insert(_ account: String, _ database: Database) throws -> Int64 {
    try Self.insert([self], account, database)[0].position
  }

  /// The number of rows per statement, because each execution opens every index of the table.
  private static let rows = 20
  private static let insertionOfOne = insertion(1)
  private static let insertionOfMany = insertion(rows)

  private static func insertion(_ count: Int) -> String {
    let rows = (0..<count).map { row in
      let (first, others) = (11 * row + 2, (11 * row + 4)..<(11 * row + 8))
      let (time, id) = ("?\(first)", "?\(first + 1)")
      let texts = others.map { "?\($0)" }.joined(separator: ", ")
      let rest = (others.upperBound..<(first + 11)).map { "?\($0)" }.joined(separator: ", ")
      return "(?1, 1, ?1, \(time), \(id), \(id), ?1, \(texts), 0, 0, 0, \(rest))"
    }
    return """
      INSERT INTO messages (account, direction, sender, time, id, originID, fromJID, toJID, type, body, subject,
        isCarbon, isDelayed, isEncrypted, thread, replaces, delivery, since, asksReceipt)
      VALUES \(rows.joined(separator: ", "))
      """
  }

  /// Stores messages with new IDs in their order; returns them with their positions.
  package static func insert(
    _ messages: [OutboxMessage], _ account: String, _ database: Database
  ) throws -> [OutboxMessage] {
    var kept = messages
    var rest = kept.indices
    while !rest.isEmpty {
      let part = rest.prefix(rest.count < rows ? 1 : rows)
      rest.removeFirst(part.count)
      let insertion = try database.cachedStatement(sql: part.count == 1 ? insertionOfOne : insertionOfMany)
      var values: [(any DatabaseValueConvertible)?] = [account]
      for index in part { values += kept[index].values }
      try insertion.execute(arguments: StatementArguments(values))
      // The positions are consecutive, because no other connection writes during the transaction.
      let first = database.lastInsertedRowID - Int64(part.count) + 1
      for (position, index) in zip(first..., part) { kept[index].position = position }
    }
    return kept
  }

  /// The stored values, in the order of the columns.
  private var values: [(any DatabaseValueConvertible)?] {
    let delivery = isSent ? StoredMessage.Delivery.handedOver : .queued
    return [
      accepted, id, to.description, type.rawValue, body, subject, thread, replaces, delivery.rawValue, since,
      asksReceipt,
    ]
  }

  /// The messages of an account, oldest first.
  ///
  /// - Parameter isSent: only messages that may have been handed to a server.
  package static func all(
    of account: String, isSent: Bool = false, _ database: Database
  ) throws -> [OutboxMessage] {
    let selection = try database.cachedStatement(
      sql: """
        SELECT \(columns) FROM messages INDEXED BY outbox
        WHERE account = ? AND delivery < 0 \(isSent ? "AND delivery = -1" : "") ORDER BY position
        """)
    return try Row.fetchAll(selection, arguments: [account]).compactMap(OutboxMessage.init)
  }

  /// The oldest messages that were never sent, as many as there is room for.
  package static func queued(
    of account: String, upTo room: (messages: Int, octets: Int), _ database: Database
  ) throws -> (messages: [OutboxMessage], areAll: Bool) {
    // In the order of the index, so that nothing is sorted and no more is read than needed.
    let selection = try database.cachedStatement(
      sql: """
        SELECT \(columns) FROM messages INDEXED BY outbox
        WHERE account = ? AND delivery < 0 AND delivery = -2 ORDER BY position
        """)
    let rows = try Row.fetchCursor(selection, arguments: [account])
    var messages: [OutboxMessage] = []
    var octets = 0
    while messages.count < room.messages, octets < room.octets {
      guard let row = try rows.next() else { return (messages, true) }
      guard let message = OutboxMessage(row) else { continue }
      messages.append(message)
      octets += message.octets
    }
    return (messages, false)
  }

  package static func count(of account: String, _ database: Database) throws -> Int {
    try Int.fetchOne(
      database, sql: "SELECT count(*) FROM messages INDEXED BY outbox WHERE account = ? AND delivery < 0",
      arguments: [account]) ?? 0
  }

  /// Marks messages that may have reached the server. `since` stays as set the first time.
  package static func markSent(_ positions: [Int64], since: String?, _ database: Database) throws {
    let update = try database.cachedStatement(
      sql: """
        UPDATE messages SET since = CASE delivery WHEN -2 THEN ?2 ELSE since END, delivery = -1
        WHERE position = ?1 AND delivery < 0
        """)
    for position in positions { try update.execute(arguments: [position, since]) }
  }

  /// Marks sent messages as absent from the archive up to this position.
  package static func markMissing(through position: String, of account: String, _ database: Database) throws {
    let update = try database.cachedStatement(
      sql: """
        UPDATE messages INDEXED BY outbox SET since = ?1 WHERE account = ?2 AND delivery < 0 AND delivery = -1
        """)
    try update.execute(arguments: [position, account])
  }

  /// Marks a message as not sent after all.
  package func markQueued(_ database: Database) throws {
    let update = try database.cachedStatement(
      sql: """
        UPDATE messages SET delivery = -2, since = NULL WHERE position = ? AND originID = ? AND delivery = -1
        """)
    try update.execute(arguments: [position, id])
  }

  /// The message with this ID in the outbox.
  package static func find(_ id: String, of account: String, _ database: Database) throws -> OutboxMessage? {
    let selection = try database.cachedStatement(
      sql: """
        SELECT \(columns) FROM messages WHERE account = ?1 AND sender = ?1 AND originID = ?2 AND delivery < 0
        """)
    return try Row.fetchOne(selection, arguments: [account, id]).flatMap(OutboxMessage.init)
  }

  /// The messages with these IDs in the outbox, oldest first.
  package static func find(
    _ ids: [String], of account: String, _ database: Database
  ) throws -> [OutboxMessage] {
    if ids.count == 1 { return try find(ids[0], of: account, database).map { [$0] } ?? [] }
    let selection = try database.cachedStatement(
      sql: """
        SELECT \(columns) FROM messages INDEXED BY messagesByOriginID
        WHERE account = ?1 AND sender = ?1 AND originID IN (SELECT value FROM json_each(?2)) AND delivery < 0
        ORDER BY position
        """)
    return try Row.fetchAll(selection, arguments: [account, list(ids)]).compactMap(OutboxMessage.init)
  }

  /// Encodes texts for SQLite's `json_each`.
  private static func list(_ texts: [String]) throws -> String {
    String(decoding: try JSONEncoder().encode(texts), as: UTF8.self)
  }

  /// Removes the message; returns whether it was still in the outbox.
  package func remove(_ database: Database) throws -> Bool {
    let deletion = try database.cachedStatement(
      sql: "DELETE FROM messages WHERE position = ? AND originID = ? AND delivery < 0")
    try deletion.execute(arguments: [position, id])
    return database.changesCount > 0
  }

  /// Moves the message into the history when the server has it; returns it as stored. Its place is after the others of
  /// its time. Nil where the history has a copy of it already.
  ///
  /// - Parameters:
  ///   - own: the account's bare JID.
  ///   - cursor: the cursor of its event.
  ///   - archiveID: its archive ID, if known.
  package func settle(
    _ account: String, own: String, cursor: Int64, archiveID: String? = nil, _ database: Database
  ) throws -> StoredMessage? {
    if own != account, try !rename(own, database) {
      _ = try remove(database)
      return nil
    }
    var message = stored(own: own)
    let place = try message.place(database)
    let update = try database.cachedStatement(
      sql: """
        UPDATE messages SET delivery = 1, cursor = ?2, place = ?3, since = NULL WHERE position = ?1
        """)
    try update.execute(arguments: [position, cursor, place])
    if let place { try message.index(place, database) }
    if archiveID != nil {
      message.archiveID = archiveID
      try message.complete(position, database)
    }
    guard try message.isTakenBack(account, database) else { return message }
    try StoredMessage.retract(id, of: own, account, database)
    return message.retracted
  }

  /// Renames the sender when the server uses another name for the account than when the message was accepted: an
  /// anonymous account has a new name each time. Returns false where that name has a message with the ID.
  private func rename(_ own: String, _ database: Database) throws -> Bool {
    let update = try database.cachedStatement(
      sql: "UPDATE OR IGNORE messages SET sender = ?1, fromJID = ?1 WHERE position = ?2")
    try update.execute(arguments: [own, position])
    return database.changesCount > 0
  }

  /// In the order in which ``init(_:)`` reads them, which is faster than by name.
  private static let columns =
    "position, id, toJID, type, body, subject, thread, time, delivery = -1, since, asksReceipt, replaces"

  /// Returns nil for a row that no agent has written.
  package init?(_ row: Row) {
    guard let to = try? JID(row[2]) else { return nil }
    self.init(
      position: row[0], id: row[1], to: to, type: Message.Kind(rawValue: row[3]), body: row[4],
      subject: row[5], thread: row[6], replaces: row[11], asksReceipt: row[10], accepted: row[7],
      isSent: row[8], since: row[9])
  }
}
