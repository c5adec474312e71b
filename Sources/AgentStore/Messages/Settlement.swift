import GRDB
import XMPPStanza

/// Messages of the outbox that the server has, and that were accepted at one time: what goes into the store of messages, in
/// few statements for all of them.
package struct Settlement {
  private let messages: ArraySlice<OutboxMessage>
  /// The account's bare JID.
  private let own: String
  /// Of the first message; each takes two.
  private let cursor: Int64
  /// Of the first message in the order of all; the others are behind it.
  private let place: Int64
  /// JSON of where they are in the outbox.
  private let positions: String

  /// - Parameters:
  ///   - messages: of one time, oldest first.
  ///   - own: the account's bare JID.
  ///   - cursor: of the first of their events.
  ///
  /// Nil where each has to be looked at.
  package init?(_ messages: ArraySlice<OutboxMessage>, own: JID, from cursor: Int64, _ database: Database)
    throws
  {
    self.own = own.description
    guard let first = messages.first?.stored(own: self.own), let place = try first.place(cursor, database)
    else {
      return nil
    }
    let places = StoredMessage.places(of: first.time)
    guard places.contains(place), places.contains(place + Int64(messages.count)) else { return nil }
    self.messages = messages
    self.cursor = cursor
    self.place = place
    positions = "[" + messages.map { String($0.position) }.joined(separator: ",") + "]"
    if try isTakenBack(database) { return nil }
  }

  /// Cursors that it takes.
  package var cursors: Int64 { 2 * Int64(messages.count) }

  /// Whether another device of the account has taken one of them back already.
  private func isTakenBack(_ database: Database) throws -> Bool {
    let selection = try database.cachedStatement(
      sql: """
        SELECT 1 FROM json_each(?) CROSS JOIN outbox ON outbox.position = value
        JOIN messages ON messages.account = outbox.account AND sender = ? AND retracts = outbox.id
        """)
    return try Int.fetchOne(selection, arguments: [positions, own]) != nil
  }

  /// Takes the messages out of the outbox; gives those of which no copy was kept before, and their cursors.
  package func store(_ database: Database) throws -> [(StoredMessage, cursor: Int64)] {
    let insertion = try database.cachedStatement(
      sql: """
        INSERT OR IGNORE INTO messages (cursor, account, direction, sender, time, id, originID, fromJID, toJID, type,
          body, subject, thread, isCarbon, isDelayed, isEncrypted, isFromOutbox, place,
          replaces)
        SELECT ?1 + 2 * list.key, account, 1, ?2, accepted, outbox.id, outbox.id, ?2, toJID, outbox.type,
          body, subject, thread, 0, 0, 0, 1, ?3 + list.key, replaces
        FROM json_each(?4) AS list CROSS JOIN outbox ON position = list.value
        RETURNING cursor
        """)
    let new = Set(try Int64.fetchAll(insertion, arguments: [cursor, own, place, positions]))
    let indexing = try database.cachedStatement(
      sql: """
        INSERT INTO search (rowid, body, subject)
        SELECT place, body, subject FROM messages WHERE cursor >= ? AND cursor < ?
        """)
    try indexing.execute(arguments: [cursor, cursor + cursors])
    let deletion = try database.cachedStatement(
      sql: "DELETE FROM outbox WHERE position IN (SELECT value FROM json_each(?))")
    try deletion.execute(arguments: [positions])
    return zip(messages, stride(from: cursor, to: cursor + cursors, by: 2)).compactMap { message, cursor in
      new.contains(cursor) ? (message.stored(own: own), cursor) : nil
    }
  }
}
