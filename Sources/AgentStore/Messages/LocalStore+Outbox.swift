import AgentProtocol
import FoundationEssentials
import GRDB
import Glibc
import XMPPFeatures
import XMPPStanza

// Messages that were accepted, until the server has them.

extension LocalStore {
  /// The same with how many messages wait in each account's outbox.
  package func countQueued(_ sessions: [SessionStatus]) async throws(Failure) -> [SessionStatus] {
    try await change { try Self.countQueued(sessions, $0) }
  }

  /// The same where no agent runs; blocks on the disk. A database is neither made for it nor changed.
  package static func countQueued(
    _ sessions: [SessionStatus], at path: String
  ) throws(Failure) -> [SessionStatus] {
    guard access(path, F_OK) == 0 else { return sessions }
    do {
      return try reader(path).read { database in
        try database.tableExists("outbox") ? countQueued(sessions, database) : sessions
      }
    } catch {
      throw failure(error, path)
    }
  }

  private static func countQueued(
    _ sessions: [SessionStatus], _ database: Database
  ) throws -> [SessionStatus] {
    try sessions.map { session in
      var session = session
      session.queued = try OutboxMessage.count(of: session.account, database)
      return session
    }
  }

  /// Those of the ids that messages of an account were accepted under, where no agent tells; blocks on the disk. A database
  /// is neither made for it nor changed.
  ///
  /// - Parameter account: normalised bare JID.
  package static func accepted(
    _ ids: [String], of account: String, at path: String
  ) throws(Failure) -> [String] {
    guard access(path, F_OK) == 0 else { return [] }
    do {
      return try reader(path).read { try OutboxMessage.accepted(ids, of: account, own: account, $0) }
    } catch {
      throw failure(error, path)
    }
  }

  /// How many messages wait of each account that has any, where no agent runs; blocks on the disk. A database is not
  /// made for it.
  ///
  /// - Parameter dropping: they are deleted, and none waits.
  package static func queued(
    of accounts: [String], dropping: Bool, at path: String
  ) throws(Failure) -> [String: Int] {
    guard !accounts.isEmpty, access(path, F_OK) == 0 else { return [:] }
    let store = try LocalStore(path: path)
    do {
      return try store.database.write { database in
        var queued: [String: Int] = [:]
        for account in accounts {
          if dropping {
            try database.execute(sql: "DELETE FROM outbox WHERE account = ?", arguments: [account])
          }
          let count = try OutboxMessage.count(of: account, database)
          if count > 0 { queued[account] = count }
        }
        return queued
      }
    } catch {
      throw failure(error, path)
    }
  }
}

extension OutboxMessage {
  /// What became of a message that was to be accepted.
  package enum Acceptance: Sendable, Equatable {
    /// It waits under this position.
    case accepted(Int64)
    /// The same message was accepted before, and waits.
    case waiting
    /// The same message was accepted before, and the server has it.
    case sent
    /// Another message has its id.
    case idTaken
  }

  /// The messages with this id: those that wait, and those that the server has. `?1`: the account, `?2`: the id, `?3`: the
  /// account's own bare JID, `?4`: the id where it had to be made unique.
  private static let known = """
    SELECT 1 AS isWaiting, toJID, body, subject FROM outbox WHERE account = ?1 AND id = ?2
    UNION ALL
    SELECT 0, toJID, body, subject FROM messages WHERE account = ?1 AND sender = ?3 AND originID = ?2
    UNION ALL
    SELECT 0, toJID, body, subject FROM messages
    WHERE account = ?1 AND sender = ?3 AND id = ?4 AND id IS NOT originID
    """

  /// Those of the ids that messages were accepted under.
  package static func accepted(
    _ ids: [String], of account: String, own: String, _ database: Database
  ) throws -> [String] {
    let selection = try database.cachedStatement(sql: "SELECT EXISTS (\(known))")
    return try ids.filter { id in
      try Bool.fetchOne(selection, arguments: [account, id, own, StanzaID.unique(id)]) == true
    }
  }

  /// Keeps the message until the server has it; once, however often it is asked for.
  package func accept(_ account: String, own: String, _ database: Database) throws -> Acceptance {
    let known = try database.cachedStatement(sql: Self.known)
    if let row = try Row.fetchOne(known, arguments: [account, id, own, StanzaID.unique(id)]) {
      let isSame =
        row["toJID"] == to.description && row["body"] as String? == body
        && row["subject"] as String? == subject
      guard isSame else { return .idTaken }
      return row["isWaiting"] ? .waiting : .sent
    }
    return .accepted(try insert(account, database))
  }

  /// Whether messages with some of these ids may have been accepted before: there are ids between them.
  package static func mayBeKnown(_ ids: [String], of account: String, own: String, _ database: Database)
    throws
    -> Bool
  {
    let isBefore = { (one: String, other: String) in one.utf8.lexicographicallyPrecedes(other.utf8) }
    let selection = try database.cachedStatement(
      sql: """
        SELECT EXISTS (SELECT 1 FROM outbox WHERE account = ?1 AND id >= ?3 AND id <= ?4) OR EXISTS (
          SELECT 1 FROM messages WHERE account = ?1 AND sender = ?2 AND originID >= ?3 AND originID <= ?4)
        OR EXISTS (
          SELECT 1 FROM messages
          WHERE account = ?1 AND sender = ?2 AND id >= ?3 AND id <= ?4 AND id IS NOT originID)
        """)
    return try Bool.fetchOne(
      selection, arguments: [account, own, ids.min(by: isBefore), ids.max(by: isBefore)]) != false
  }

  /// Keeps a message whose id is new; its position.
  package func insert(_ account: String, _ database: Database) throws -> Int64 {
    let insertion = try database.cachedStatement(
      sql: """
        INSERT INTO outbox (account, id, toJID, type, body, subject, thread, accepted, isSent, since, asksReceipt,
          replaces)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """)
    try insertion.execute(arguments: [
      account, id, to.description, type.rawValue, body, subject, thread, accepted, isSent, since,
      asksReceipt, replaces,
    ])
    return database.lastInsertedRowID
  }

  /// The messages of an account, oldest first; nil stands for all of either kind.
  package static func all(
    of account: String, isSent: Bool? = nil, _ database: Database
  ) throws -> [OutboxMessage] {
    let selection = try database.cachedStatement(
      sql: """
        SELECT \(columns) FROM outbox WHERE account = ?1 AND (?2 IS NULL OR isSent = ?2) ORDER BY position
        """)
    return try Row.fetchAll(selection, arguments: [account, isSent]).compactMap(OutboxMessage.init)
  }

  /// Those that were never handed over, oldest first, as many as there is room for.
  package static func queued(
    of account: String, upTo room: (messages: Int, octets: Int), _ database: Database
  ) throws -> (messages: [OutboxMessage], areAll: Bool) {
    // The plus keeps SQLite from sorting all of them for each few: it reads in the order of the table.
    let selection = try database.cachedStatement(
      sql: "SELECT \(columns) FROM outbox WHERE +account = ? AND isSent = 0 ORDER BY position")
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
    try Int.fetchOne(database, sql: "SELECT count(*) FROM outbox WHERE account = ?", arguments: [account])
      ?? 0
  }

  /// From now on each of them may have reached the server. `since` is kept of the first time.
  package static func markSent(_ positions: [Int64], since: String?, _ database: Database) throws {
    let update = try database.cachedStatement(
      sql:
        "UPDATE outbox SET since = CASE isSent WHEN 0 THEN ?2 ELSE since END, isSent = 1 WHERE position = ?1")
    for position in positions { try update.execute(arguments: [position, since]) }
  }

  /// What was handed over is not in the archive up to this position.
  package static func markMissing(through position: String, of account: String, _ database: Database) throws {
    let update = try database.cachedStatement(
      sql: "UPDATE outbox SET since = ?1 WHERE account = ?2 AND isSent = 1")
    try update.execute(arguments: [position, account])
  }

  /// It has not been handed to anybody after all.
  package static func markQueued(_ position: Int64, _ database: Database) throws {
    let update = try database.cachedStatement(
      sql: "UPDATE outbox SET isSent = 0, since = NULL WHERE position = ?")
    try update.execute(arguments: [position])
  }

  /// The message with this id, where it waits.
  package static func find(_ id: String, of account: String, _ database: Database) throws -> OutboxMessage? {
    let selection = try database.cachedStatement(
      sql: "SELECT \(columns) FROM outbox WHERE account = ? AND id = ?")
    return try Row.fetchOne(selection, arguments: [account, id]).flatMap(OutboxMessage.init)
  }

  /// Those of the messages with these ids that wait, oldest first.
  package static func find(
    _ ids: [String], of account: String, _ database: Database
  ) throws -> [OutboxMessage] {
    if ids.count == 1 { return try find(ids[0], of: account, database).map { [$0] } ?? [] }
    let selection = try database.cachedStatement(
      sql: """
        SELECT \(columns) FROM outbox WHERE account = ? AND id IN (SELECT value FROM json_each(?)) ORDER BY position
        """)
    return try Row.fetchAll(selection, arguments: [account, list(ids)]).compactMap(OutboxMessage.init)
  }

  /// Texts as SQLite's `json_each` takes them.
  private static func list(_ texts: [String]) throws -> String {
    String(decoding: try JSONEncoder().encode(texts), as: UTF8.self)
  }

  /// The message with this id waits no more; it, where it did.
  package static func take(_ id: String, of account: String, _ database: Database) throws -> OutboxMessage? {
    guard let message = try find(id, of: account, database) else { return nil }
    let deletion = try database.cachedStatement(sql: "DELETE FROM outbox WHERE position = ?")
    try deletion.execute(arguments: [message.position])
    return message
  }

  /// In the order in which ``init(_:)`` takes them: a name is looked for in every row.
  private static let columns =
    "position, id, toJID, type, body, subject, thread, accepted, isSent, since, asksReceipt, replaces"

  /// Nil for what no agent has written.
  package init?(_ row: Row) {
    guard let to = try? JID(row[2]) else { return nil }
    self.init(
      position: row[0], id: row[1], to: to, type: Message.Kind(rawValue: row[3]), body: row[4],
      subject: row[5], thread: row[6], replaces: row[11], asksReceipt: row[10], accepted: row[7],
      isSent: row[8], since: row[9])
  }
}
