import AgentProtocol
import FoundationEssentials
import GRDB
import Glibc

/// Messages of one conversation that name the same thread (RFC 6121 §5.2.5).
package struct StoredThread: Codable, Sendable, Equatable {
  /// The conversation.
  package var jid: String
  /// Chosen by whoever has begun the thread.
  package var thread: String
  package var messages: Int
  /// When the first and the last of them were sent: RFC 3339.
  package var first: String
  package var last: String
}

/// The threads that the messages of an account name, read beside an agent or without one.
package enum StoredThreads {
  /// The one with the newest message comes first; blocks on the disk. A database is not made for it.
  ///
  /// - Parameters:
  ///   - account: normalised bare JID.
  ///   - peer: only threads of this conversation, as ``HistoryQuery/peer(_:of:)`` names it.
  ///   - limit: at most so many.
  ///   - path: of the database.
  package static func list(
    _ account: String, with peer: String?, limit: Int, at path: String
  ) throws(Failure) -> [StoredThread] {
    guard access(path, F_OK) == 0 else { return [] }
    let store = try LocalStore(path: path)
    do { return try store.database.read { try list(account, with: peer, limit: limit, $0) } } catch {
      throw LocalStore.failure(error, path)
    }
  }

  private static func list(
    _ account: String, with peer: String?, limit: Int, _ database: Database
  ) throws -> [StoredThread] {
    let rows = try Row.fetchAll(
      database,
      sql: """
        SELECT peer, thread, count(*) AS messages, min(time) AS first, max(time) AS last
        FROM messages INDEXED BY messagesByThread
        WHERE account = ?1 AND thread IS NOT NULL AND place IS NOT NULL AND (?2 IS NULL OR peer = ?2)
          AND type <> 'error' AND \(HistoryQuery.isShown()) AND \(StoredMessage.isOfItsOwn)
        GROUP BY peer, thread ORDER BY max(place) DESC LIMIT ?3
        """, arguments: [account, peer, limit])
    return rows.map { row in
      func text(_ column: String) -> String {
        Timestamp.text(Date(timeIntervalSince1970: row[column] as Double))
      }
      return StoredThread(
        jid: row["peer"], thread: row["thread"], messages: row["messages"], first: text("first"),
        last: text("last"))
    }
  }
}
