import GRDB
import XMPPStanza

/// Moves outbox messages that were accepted at the same time and that the server has into the history, in few
/// statements.
package struct Settlement {
  private let messages: ArraySlice<OutboxMessage>
  /// The account's bare JID.
  private let own: String
  /// The cursor of the first message; each message takes two.
  private let cursor: Int64
  /// The place of the first message; the others follow.
  private let place: Int64
  /// The keys of their rows, as JSON.
  private let positions: String

  /// - Parameters:
  ///   - messages: messages with one time, oldest first.
  ///   - own: the account's bare JID.
  ///   - cursor: the cursor of the first event.
  ///
  /// Returns nil where each message has to be handled individually.
  package init?(
    _ messages: ArraySlice<OutboxMessage>, of account: String, own: JID, from cursor: Int64,
    _ database: Database
  ) throws {
    self.own = own.description
    // A message that was accepted under another account name may have a copy to merge with.
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

  /// The number of cursors needed.
  package var cursors: Int64 { 2 * Int64(messages.count) }

  /// Whether another device of the account has retracted one of them already.
  private func isTakenBack(_ database: Database) throws -> Bool {
    let selection = try database.cachedStatement(
      sql: """
        SELECT 1 FROM json_each(?1) CROSS JOIN messages AS sent ON sent.position = value
        JOIN messages ON messages.account = sent.account AND messages.sender = ?2
          AND messages.retracts = sent.originID
        """)
    return try Int.fetchOne(selection, arguments: [positions, own]) != nil
  }

  /// Moves the messages that are still in the outbox; returns them with their cursors.
  package func store(_ database: Database) throws -> [(StoredMessage, cursor: Int64)] {
    // A position may have been reused by a message that was accepted later.
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

  /// The cursors of the messages that were still in the outbox.
  private func settled(_ database: Database) throws -> Set<Int64> {
    let selection = try database.cachedStatement(
      sql: "SELECT cursor FROM messages WHERE cursor >= ? AND cursor < ?")
    return Set(try Int64.fetchAll(selection, arguments: [cursor, cursor + cursors]))
  }
}
