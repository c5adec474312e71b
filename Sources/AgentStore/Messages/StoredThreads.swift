import AgentProtocol
import FoundationEssentials
import GRDB
import Glibc

/// Lists the threads of an account's messages, beside a running agent or without one.
package enum StoredThreads {
  /// The thread with the newest message comes first. Blocks on the disk. Does not create a database.
  ///
  /// - Parameters:
  ///   - account: normalised bare JID.
  ///   - peer: only threads of this conversation, in the form of ``HistoryQuery/peer(_:of:)``.
  ///   - limit: the maximum number of threads.
  ///   - path: the path of the database.
  package static func list(
    _ account: String, with peer: String?, limit: Int, at path: String
  ) throws(Failure) -> [MessageThread] {
    guard access(path, F_OK) == 0 else { return [] }
    let store = try LocalStore(path: path)
    do { return try store.database.read { try list(account, with: peer, limit: limit, $0) } } catch {
      throw LocalStore.failure(error, path)
    }
  }

  private static func list(
    _ account: String, with peer: String?, limit: Int, _ database: Database
  ) throws -> [MessageThread] {
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
      return MessageThread(
        jid: row["peer"], thread: row["thread"], messages: row["messages"], first: text("first"),
        last: text("last"))
    }
  }
}
