import AgentProtocol
import GRDB

// What a watcher has missed.

extension LocalStore {
  /// Events that are replayed at most.
  static let replayed = 100_000
  /// Events that are read at a time.
  private static let page = 500

  /// The cursor after which a replay begins, where it can: nothing that is kept, and was to be replayed, is left out
  /// but what is older than the last ``replayed`` events. `isWhole` tells whether there is such.
  func replayStart(
    since cursor: Int64, until last: Int64, account: String?, limit: Int = replayed
  ) async throws(Failure) -> (start: Int64, isWhole: Bool) {
    // The reader knows more than there ever was: this is another database.
    if cursor > last { return (last, false) }
    let oldest = try await read { database in
      try Int64.fetchOne(
        database,
        sql: """
          SELECT cursor FROM messages WHERE cursor > ?1 AND cursor <= ?2 AND (?3 IS NULL OR account = ?3)
          ORDER BY cursor DESC LIMIT 1 OFFSET ?4
          """, arguments: [cursor, last, account, limit])
    }
    return (oldest ?? cursor, oldest == nil)
  }

  /// The next events to replay, oldest first; none when all were.
  func replay(after cursor: Int64, until last: Int64, account: String?) async throws(Failure) -> [Event] {
    try await read { database in
      try Row.fetchAll(
        database,
        sql: """
          SELECT * FROM messages WHERE cursor > ? AND cursor <= ? AND (?3 IS NULL OR account = ?3)
          ORDER BY cursor LIMIT ?4
          """, arguments: [cursor, last, account, Self.page]
      ).map { StoredMessage($0).event(account: $0["account"], cursor: $0["cursor"]) }
    }
  }
}
