import AgentProtocol
import GRDB
import Glibc
import XMPPFeatures
import XMPPStanza

// Messages of all accounts, each one row.

extension StoredMessage {
  /// Keeps the message; gives it as it is kept, which is without what it says where its sender has taken that back before
  /// it came. Nil where it, or another copy of it, is kept already.
  ///
  /// A copy that knows the id in the archive gives it to one that does not.
  ///
  /// - Parameters:
  ///   - cursor: of its event; nil for a message out of the past, which stands before what was there.
  ///   - isShown: the history has it.
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

  /// The position of what is kept of the same message, of which one copy alone names its origin-id: a client may do so when
  /// it sends a message again. An id alone says nothing, some clients use one for all of their messages; but of what this
  /// device has sent, which is kept as it was written.
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

  /// What a row of a message begins with, in the order in which ``init(_:)`` reads it.
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

  /// - Parameter row: begins with ``columns(of:)``.
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
