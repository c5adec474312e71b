import GRDB
import XMPPStanza

/// Messages of the outbox that the server has, and that were accepted at one time: they are taken over into the history in
/// few statements for all of them.
package struct Settlement {
  private let messages: ArraySlice<OutboxMessage>
  /// The account's bare JID.
  private let own: String
  /// Of the first message; each takes two.
  private let cursor: Int64
  /// Of the first message in the order of all; the others are behind it.
  private let place: Int64
  /// JSON of the keys of their rows.
  private let positions: String

  /// - Parameters:
  ///   - messages: of one time, oldest first.
  ///   - own: the account's bare JID.
  ///   - cursor: of the first of their events.
  ///
  /// Nil where each has to be looked at.
  package init?(
    _ messages: ArraySlice<OutboxMessage>, of account: String, own: JID, from cursor: Int64,
    _ database: Database
  ) throws {
    self.own = own.description
    // A message that has waited under another name than the server's may have to be put together with a copy.
    guard self.own == account, let first = messages.first?.stored(own: self.own),
      let place = try first.place(database)
    else { return nil }
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
        SELECT 1 FROM json_each(?1) CROSS JOIN messages AS sent ON sent.position = value
        JOIN messages ON messages.account = sent.account AND messages.sender = ?2
          AND messages.retracts = sent.originID
        """)
    return try Int.fetchOne(selection, arguments: [positions, own]) != nil
  }

  /// Gives those that have waited still, and their cursors.
  package func store(_ database: Database) throws -> [(StoredMessage, cursor: Int64)] {
    // A position may have become another message's that was accepted later.
    let update = try database.cachedStatement(
      sql: """
        UPDATE messages SET delivery = 1, cursor = ?1 + 2 * list.key, place = ?2 + list.key, since = NULL
        FROM json_each(?3) AS list WHERE position = list.value AND time = ?4 AND delivery < 0
        """)
    try update.execute(arguments: [cursor, place, positions, messages.first?.accepted])
    let areAll = database.changesCount == messages.count
    let indexing = try database.cachedStatement(
      sql: """
        INSERT INTO search (rowid, body, subject)
        SELECT place, body, subject FROM messages WHERE cursor >= ? AND cursor < ?
        """)
    try indexing.execute(arguments: [cursor, cursor + cursors])
    let settled = try areAll ? [] : settled(database)
    return zip(messages, stride(from: cursor, to: cursor + cursors, by: 2)).compactMap { message, cursor in
      areAll || settled.contains(cursor) ? (message.stored(own: own), cursor) : nil
    }
  }

  /// The cursors of those that have waited still.
  private func settled(_ database: Database) throws -> Set<Int64> {
    let selection = try database.cachedStatement(
      sql: "SELECT cursor FROM messages WHERE cursor >= ? AND cursor < ?")
    return Set(try Int64.fetchAll(selection, arguments: [cursor, cursor + cursors]))
  }
}
