import AgentProtocol
import GRDB
import Glibc
import XMPPFeatures
import XMPPStanza

// The messages of all accounts, one row each.

extension StoredMessage {
  /// Stores the message; returns it as stored, which is without its contents where the sender has retracted it before
  /// it arrived. Nil where it or a copy is stored already.
  ///
  /// The archive ID of a copy is added to a stored message without one.
  ///
  /// - Parameters:
  ///   - cursor: the cursor of its event; nil for a message of the history, which comes before the stored ones.
  ///   - isShown: whether the history shows it.
  package func insert(
    _ account: String, cursor: Int64?, isShown: Bool = true, _ database: Database
  ) throws -> StoredMessage? {
    if let kept = try repeated(account, database) ?? counterpart(account, database) {
      try complete(kept, database)
      return nil
    }
    let insertion = try database.cachedStatement(
      sql: """
        INSERT OR IGNORE INTO messages (cursor, account, direction, sender, time, id, originID, archiveID,
          fromJID, toJID, type, body, subject, thread, isCarbon, isDelayed, isEncrypted, replaces, retracts,
          delivery, place, refusal, refusalText, copies)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """)
    let archiveID = try isArchiveIDClaimed && isArchiveIDOfAnother(account, database) ? nil : archiveID
    let place = isShown ? try place(isPast: cursor == nil, database) : nil
    try insertion.execute(arguments: [
      cursor, account, direction.rawValue, sender, time, id, originID, archiveID, from, to, type.rawValue,
      body, subject, thread, isCarbon, isDelayed, isEncrypted, replaces, retracts, delivery.rawValue, place,
      refusal?.condition, refusal?.text, isToOneself ? copy?.rawValue : nil,
    ])
    if database.changesCount > 0 {
      if let place { try index(place, database) }
      if let retracts {
        try Self.retract(retracts, of: sender, account, database)
      } else if try isTakenBack(account, database), let id = originID ?? id {
        try Self.retract(id, of: sender, account, database)
        return retracted
      }
      return self
    }
    if let archiveID, let originID {
      let completion = try database.cachedStatement(
        sql: """
          UPDATE OR IGNORE messages SET archiveID = ?
          WHERE account = ? AND sender = ? AND originID = ? AND archiveID IS NULL
          """)
      try completion.execute(arguments: [archiveID, account, sender, originID])
    }
    return nil
  }

  /// The position of a stored copy of the message where only one of the two has an origin-id: a client may add one when
  /// it sends a message again. The stanza ID alone does not suffice, because some clients use the same one for all
  /// messages, except for messages of this device, whose IDs are its own.
  private func repeated(_ account: String, _ database: Database) throws -> Int64? {
    guard let id = StanzaID.unique(id), originID == nil || originID == id, type != .error,
      retracts == nil
    else { return nil }
    let named = originID == nil ? "originID = ?3" : "id = ?3 AND id IS NOT originID AND originID IS NULL"
    let selection = try database.cachedStatement(
      sql: """
        SELECT position FROM messages
        WHERE account = ?1 AND sender = ?2 AND \(named) AND retracts IS NULL
          AND (delivery <> 0 OR type = ?4 AND (body IS ?5 OR isRetracted))
        LIMIT 1
        """)
    return try Int64.fetchOne(selection, arguments: [account, sender, id, type.rawValue, body])
  }

  /// The columns with which the row of a message begins, in the order in which ``init(_:)`` reads them.
  package static func columns(of table: String = "messages") -> String {
    let names = [
      "direction", "sender", "time", "id", "originID", "archiveID", "fromJID", "toJID", "type", "body",
      "subject",
      "thread", "isCarbon", "isDelayed", "isEncrypted", "replaces", "retracts", "delivery", "isRetracted",
      "refusal",
      "refusalText",
    ]
    return names.map { "\(table).\($0)" }.joined(separator: ", ")
  }

  /// - Parameter row: a row that begins with ``columns(of:)``.
  package init(_ row: Row) {
    var columns = RowReader(row)
    direction = Direction(rawValue: columns.next()) ?? .received
    sender = columns.next()
    time = columns.next()
    id = columns.next()
    originID = columns.next()
    archiveID = columns.next()
    from = columns.next()
    to = columns.next()
    type = Message.Kind(rawValue: columns.next())
    body = columns.next()
    subject = columns.next()
    thread = columns.next()
    isCarbon = columns.next()
    isDelayed = columns.next()
    isEncrypted = columns.next()
    replaces = columns.next()
    retracts = columns.next()
    delivery = Delivery(rawValue: columns.next()) ?? .elsewhere
    isRetracted = columns.next()
    let (condition, text): (String?, String?) = (columns.next(), columns.next())
    refusal = condition.map { .init(condition: $0, text: text) }
  }
}
