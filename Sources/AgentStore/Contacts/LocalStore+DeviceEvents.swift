import AgentProtocol
import FoundationEssentials
import GRDB

// Device events are stored so that a watcher who was away receives them. The key is the cursor.

extension DeviceEvent {
  /// The maximum number of stored events per account.
  package static let maximumKept = 10_000

  /// Stores events under cursors and deletes the oldest above the limit; returns them as published.
  ///
  /// - Parameter time: seconds since 1970.
  package static func save(
    _ events: [DeviceEvent], of account: String, under cursors: Range<Int64>, time: Double,
    _ database: Database
  ) throws -> [Event] {
    if events.isEmpty { return [] }
    let insertion = try database.cachedStatement(
      sql:
        "INSERT INTO deviceEvents (cursor, account, time, action, jid, actor, name) VALUES (?, ?, ?, ?, ?, ?, ?)"
    )
    for (cursor, event) in zip(cursors, events) {
      try insertion.execute(arguments: [
        cursor, account, time, event.action.rawValue, event.jid, event.by?.rawValue, event.name,
      ])
    }
    try forgetOld(account, database)
    let told = Timestamp.text(Date(timeIntervalSince1970: time))
    return zip(cursors, events).map { Event(account: account, time: told, cursor: $0, body: .device($1)) }
  }

  private static func forgetOld(_ account: String, _ database: Database) throws {
    let selection = try database.cachedStatement(
      sql: "SELECT cursor FROM deviceEvents WHERE account = ? ORDER BY cursor DESC LIMIT 1 OFFSET ?")
    guard let last = try Int64.fetchOne(selection, arguments: [account, maximumKept]) else { return }
    try database.execute(
      sql: "DELETE FROM deviceEvents WHERE account = ? AND cursor <= ?", arguments: [account, last])
    try database.execute(
      sql: "INSERT OR REPLACE INTO forgottenDeviceEvents (account, cursor) VALUES (?, ?)",
      arguments: [account, last])
  }

  /// The cursor of the newest deleted event; 0 where none was deleted.
  package static func forgotten(of account: String?, _ database: Database) throws -> Int64 {
    try Int64.fetchOne(
      database, sql: "SELECT max(cursor) FROM forgottenDeviceEvents WHERE ?1 IS NULL OR account = ?1",
      arguments: [account]) ?? 0
  }

  /// Returns nil for a row that no agent of this version has written.
  package static func event(_ row: Row) -> Event? {
    guard let action = Action(rawValue: row["action"]) else { return nil }
    let actor = (row["actor"] as String?).flatMap(ContactEvent.Actor.init)
    return Event(
      account: row["account"], time: Timestamp.text(Date(timeIntervalSince1970: row["time"])),
      cursor: row["cursor"], body: .device(DeviceEvent(action, jid: row["jid"], by: actor, name: row["name"]))
    )
  }
}
