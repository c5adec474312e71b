import AgentProtocol
import GRDB

// Replays the events that a watcher has missed.

extension LocalStore {
  /// The maximum number of replayed events.
  static let replayed = 100_000
  /// The number of events of a kind read at a time, and their octets; one more event may begin below the limit.
  private static let page = 500
  private static let pageOctets = 1 << 20

  /// The table in which events of a name are stored; each row has `account` and `cursor`.
  private struct Kept {
    var name: String
    var table: String
    /// The difference between the cursor of the event and that of the row.
    var shift: Int64 = 0
    var columns = "*"
    var event: (Row) -> Event?
  }

  private static var kept: [Kept] {
    let message = StoredMessage.columns() + ", account, cursor"
    return [
      Kept(name: "message", table: "messages", columns: message) { row in
        StoredMessage(row).event(account: row["account"], cursor: row["cursor"])
      },
      Kept(name: "receipt", table: "receipts") { row in
        StoredReceipt(row).event(account: row["account"], cursor: row["cursor"])
      },
      // The server's receipt is stored with its message.
      Kept(name: "receipt", table: "messages", shift: 1, columns: message) { row in
        StoredMessage(row).receipt(account: row["account"], cursor: row["cursor"])
      },
      Kept(name: "contact", table: "contactEvents") { row in ContactEvent.event(row) },
      Kept(name: "device", table: "deviceEvents") { row in DeviceEvent.event(row) },
      Kept(name: "conversation", table: "conversationEvents") { row in ConversationEvent.event(row) },
    ]
  }

  /// The cursor after which a replay starts: `cursor`, or a later one where more than ``replayed`` events follow.
  /// `isWhole` tells whether no event is missing.
  ///
  /// - Parameter names: the names of the wanted events.
  package func replayStart(
    since cursor: Int64, until last: Int64, account: String?, names: Set<String> = Event.storedNames,
    limit: Int = replayed
  ) async throws(Failure) -> (start: Int64, isWhole: Bool) {
    // A cursor greater than the last one belongs to another database.
    if cursor > last { return (last, false) }
    let cursors = Self.kept.filter { names.contains($0.name) && $0.shift == 0 }
      .map { "SELECT cursor, account FROM \($0.table)" }.joined(separator: " UNION ALL ")
    if cursors.isEmpty { return (cursor, true) }
    let wantsContacts = names.contains("contact")
    let wantsDevices = names.contains("device")
    let wantsConversations = names.contains("conversation")
    return try await read { database in
      let oldest = try Int64.fetchOne(
        database,
        sql: """
          SELECT cursor FROM (\(cursors))
          WHERE cursor > ?1 AND cursor <= ?2 AND (?3 IS NULL OR account = ?3)
          ORDER BY cursor DESC LIMIT 1 OFFSET ?4
          """, arguments: [cursor, last, account, limit])
      let forgotten = max(
        wantsContacts ? try ContactEvent.forgotten(of: account, database) : 0,
        wantsDevices ? try DeviceEvent.forgotten(of: account, database) : 0,
        wantsConversations ? try ConversationEvent.forgotten(of: account, database) : 0)
      return (oldest ?? cursor, oldest == nil && forgotten <= cursor)
    }
  }

  /// The next events to replay, oldest first, and the cursor up to which they are complete, which is ``last`` at the
  /// end.
  package func replay(
    after cursor: Int64, until last: Int64, account: String?, names: Set<String> = Event.storedNames
  ) async throws(Failure) -> (events: [Event], through: Int64) {
    try await read { database in
      var events: [Event] = []
      var through = last
      for source in Self.kept where names.contains(source.name) {
        let rows = try Row.fetchCursor(
          database,
          sql: """
            SELECT \(source.columns) FROM \(source.table)
            WHERE cursor > ?1 AND cursor <= ?2 AND (?3 IS NULL OR account = ?3)
              \(source.shift > 0 ? "AND delivery > 0" : "")
            ORDER BY cursor LIMIT ?4
            """, arguments: [cursor - source.shift, last - source.shift, account, Self.page])
        var (count, octets) = (0, 0)
        while let row = try rows.next() {
          let event = source.event(row)
          if let event { events.append(event) }
          count += 1
          octets += event?.octets ?? 0
          if count == Self.page || octets >= Self.pageOctets {
            through = min(through, row["cursor"] + source.shift)
            break
          }
        }
      }
      return (events.filter { $0.cursor <= through }.sorted { $0.cursor < $1.cursor }, through)
    }
  }
}
