import AgentProtocol
import GRDB
import Glibc
import XMPPFeatures

/// Lists the conversations of an account for commands without an agent.
package enum StoredConversations {
  /// Pinned conversations come first, then those with the newest messages. Blocks on the disk. Does not create a
  /// database.
  ///
  /// - Parameters:
  ///   - account: normalised bare JID.
  ///   - path: the path of the database.
  package static func list(_ account: String, at path: String) throws(Failure) -> [Conversation] {
    guard access(path, F_OK) == 0 else { return [] }
    let store = try LocalStore(path: path)
    do { return try store.database.read { try list(account, $0) } } catch {
      throw LocalStore.failure(error, path)
    }
  }

  package static func list(_ account: String, _ database: Database) throws -> [Conversation] {
    var stored: [String: StoredConversation] = [:]
    for row in try Row.fetchAll(
      database, sql: "SELECT * FROM conversations WHERE account = ?", arguments: [account])
    {
      stored[row["jid"]] = StoredConversation(row)
    }
    let pending = Set(try ConversationEdit.jids(of: account, database))
    var found: [(conversation: Conversation, place: Int64)] = []
    func add(_ jid: String, unread: Int, last: (event: Event, place: Int64)?) {
      let kept = stored.removeValue(forKey: jid)?.settings ?? ConversationSettings()
      // A deleted conversation, or one without messages and settings, is not listed.
      let isSet = kept.isPinned || kept.notification != nil || !kept.marks.isEmpty
      guard last != nil || isSet else { return }
      let conversation = Conversation(
        jid: jid, unread: unread, pinned: kept.isPinned, muted: kept.notification == .never,
        marks: kept.marks, last: last?.event, pending: pending.contains(jid))
      found.append((conversation, last?.place ?? .min))
    }
    let rows = try Row.fetchCursor(
      database.cachedStatement(sql: conversationsWithMessages), arguments: [account])
    while let row = try rows.next() {
      let jid: String = row["conversation"]
      let hiddenBefore = stored[jid]?.settings.hiddenBefore
      add(
        jid, unread: row["unread"],
        last: try last(row, account, hiddenBefore: hiddenBefore, database))
    }
    for jid in Array(stored.keys) { add(jid, unread: 0, last: nil) }
    // Sorts indices, because an element holds a whole message: moving elements several times takes longer than the
    // query.
    let order = found.indices.sorted { one, other in
      let isPinned = found[one].conversation.pinned
      if isPinned != found[other].conversation.pinned { return isPinned }
      if found[one].place != found[other].place { return found[one].place > found[other].place }
      return found[one].conversation.jid < found[other].conversation.jid
    }
    return order.map { found[$0].conversation }
  }

  /// Finds each conversation by one step in the index, and its last message by another.
  private static let conversationsWithMessages = """
    WITH RECURSIVE peers (jid) AS (
      SELECT (SELECT min(peer) FROM messages INDEXED BY messagesByPeer WHERE account = ?1 AND place IS NOT NULL)
      UNION ALL
      SELECT (SELECT min(peer) FROM messages INDEXED BY messagesByPeer
        WHERE account = ?1 AND peer > peers.jid AND place IS NOT NULL)
      FROM peers WHERE peers.jid IS NOT NULL
    )
    SELECT \(StoredMessage.columns(of: "last")), last.position, last.cursor, last.place, peers.jid AS conversation,
      (\(unread("?1", "peers.jid", "coalesce(kept.readPlace, -1)", "coalesce(kept.hiddenBefore, -1)"))) AS unread,
      \(StoredMessage.isNamedByCorrection("last")) AS isCorrected
    FROM peers LEFT JOIN conversations AS kept ON kept.account = ?1 AND kept.jid = peers.jid
    LEFT JOIN messages AS last ON last.position = (
      SELECT position FROM messages INDEXED BY messagesByPeer
      WHERE account = ?1 AND peer = peers.jid AND place IS NOT NULL AND \(StoredMessage.isOfItsOwn)
      ORDER BY place DESC LIMIT 1)
    WHERE peers.jid IS NOT NULL
    """

  private static func last(
    _ row: Row, _ account: String, hiddenBefore: Double?, _ database: Database
  ) throws -> (event: Event, place: Int64)? {
    guard let position: Int64 = row["position"] else { return nil }
    let message =
      try row["isCorrected"]
      ? StoredMessage.folded(position: position, database) : StoredMessage.shown(row)
    if let hiddenBefore, message.time <= hiddenBefore { return nil }
    return (message.event(account: account, cursor: row["cursor"] ?? 0), row["place"])
  }

  /// The number of received messages after the last read one. Messages fetched from the history do not count.
  package static func unread(
    _ jid: String, _ account: String, _ kept: StoredConversation, _ database: Database
  ) throws -> Int {
    let counting = try database.cachedStatement(sql: unread("?1", "?2", "?3", "?4"))
    let arguments: StatementArguments = [
      account, jid, kept.readPlace ?? -1, kept.settings.hiddenBefore ?? -1,
    ]
    return try Int.fetchOne(counting, arguments: arguments) ?? 0
  }

  /// The SQL that counts unread messages; each parameter is an SQL expression.
  private static func unread(
    _ account: String, _ jid: String, _ readPlace: String, _ hiddenBefore: String
  ) -> String {
    """
    SELECT count(*) FROM messages INDEXED BY messagesByPeer
    WHERE account = \(account) AND peer = \(jid) AND place > \(readPlace) AND time > \(hiddenBefore)
      AND direction = 0 AND cursor IS NOT NULL AND NOT isRetracted AND retracts IS NULL AND replaces IS NULL
      AND type NOT IN ('error', 'headline')
    """
  }
}
