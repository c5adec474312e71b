import AgentProtocol
import GRDB
import Glibc
import XMPPFeatures

/// The conversations of an account, as commands without an agent tell them.
package enum StoredConversations {
  /// Those that are pinned come first, then by their newest message; blocks on the disk. A database is not made for it.
  ///
  /// - Parameters:
  ///   - account: normalised bare JID.
  ///   - path: of the database.
  package static func list(_ account: String, at path: String) throws(Failure) -> [Conversation] {
    guard access(path, F_OK) == 0 else { return [] }
    let store = try LocalStore(path: path)
    do { return try store.database.read { try list(account, $0) } } catch {
      throw LocalStore.failure(error, path)
    }
  }

  static func list(_ account: String, _ database: Database) throws -> [Conversation] {
    var stored: [String: StoredConversation] = [:]
    for row in try Row.fetchAll(
      database, sql: "SELECT * FROM conversations WHERE account = ?", arguments: [account])
    {
      stored[row["jid"]] = StoredConversation(row)
    }
    let pending = Set(try ConversationEdit.jids(of: account, database))
    var found: [(conversation: Conversation, place: Int64)] = []
    for jid in Set(try peers(account, database)).union(stored.keys) {
      let kept = stored[jid] ?? StoredConversation()
      let last = try last(jid, account, hiddenBefore: kept.settings.hiddenBefore, database)
      // What was deleted, or has never been anything, is none.
      let isSet = kept.settings.isPinned || kept.settings.notification != nil || !kept.settings.marks.isEmpty
      guard last != nil || isSet else { continue }
      let conversation = Conversation(
        jid: jid, unread: try unread(jid, account, kept, database), pinned: kept.settings.isPinned,
        muted: kept.settings.notification == .never, marks: kept.settings.marks, last: last?.event,
        pending: pending.contains(jid))
      found.append((conversation, last?.place ?? .min))
    }
    found.sort { one, other in
      if one.conversation.pinned != other.conversation.pinned { return one.conversation.pinned }
      if one.place != other.place { return one.place > other.place }
      return one.conversation.jid < other.conversation.jid
    }
    return found.map(\.conversation)
  }

  /// Those with messages: each is found by one step in the index.
  private static func peers(_ account: String, _ database: Database) throws -> [String] {
    try String.fetchAll(
      database,
      sql: """
        WITH RECURSIVE peers (peer) AS (
          SELECT (SELECT min(peer) FROM messages INDEXED BY messagesByPeer WHERE account = ?1)
          UNION ALL
          SELECT (SELECT min(peer) FROM messages INDEXED BY messagesByPeer
            WHERE account = ?1 AND peer > peers.peer)
          FROM peers WHERE peers.peer IS NOT NULL
        ) SELECT peer FROM peers WHERE peer IS NOT NULL
        """, arguments: [account])
  }

  private static func last(
    _ jid: String, _ account: String, hiddenBefore: Double?, _ database: Database
  ) throws -> (event: Event, place: Int64)? {
    let selection = try database.cachedStatement(
      sql: """
        SELECT * FROM messages INDEXED BY messagesByPeer
        WHERE account = ? AND peer = ? AND place IS NOT NULL AND \(StoredMessage.isOfItsOwn)
        ORDER BY place DESC LIMIT 1
        """)
    guard let row = try Row.fetchOne(selection, arguments: [account, jid]) else { return nil }
    let message = try StoredMessage.folded(row, database)
    if let hiddenBefore, message.time <= hiddenBefore { return nil }
    return (message.event(account: account, cursor: max(0, row["cursor"])), row["place"])
  }

  /// Messages of the other side behind the last one that was read. What was fetched out of the past is no news.
  static func unread(
    _ jid: String, _ account: String, _ kept: StoredConversation, _ database: Database
  ) throws -> Int {
    let counting = try database.cachedStatement(
      sql: """
        SELECT count(*) FROM messages INDEXED BY messagesByPeer
        WHERE account = ?1 AND peer = ?2 AND place > ?3 AND time > ?4
          AND direction = 0 AND cursor > 0 AND NOT isRetracted AND retracts IS NULL AND replaces IS NULL
          AND type NOT IN ('error', 'headline')
        """)
    let arguments: StatementArguments = [
      account, jid, kept.readPlace ?? -1, kept.settings.hiddenBefore ?? -1,
    ]
    return try Int.fetchOne(counting, arguments: arguments) ?? 0
  }
}
