import AgentProtocol
import GRDB
import XMPPStanza

// Corrections of the account's own messages (XEP-0308).

extension OutboxMessage {
  /// The message as a correction of one that was sent to the same recipient. Always names the first message of a chain
  /// of corrections (XEP-0308 §5), and has its type.
  ///
  /// Throws `invalidParameter` where there is no such message.
  package func correcting(
    _ target: OutgoingMessage.Correction, _ account: String, own: String, _ database: Database
  ) throws -> OutboxMessage {
    let row =
      switch target {
      case .last: try Self.lastCorrectable(by: self, account, own: own, database)
      case .message(let id): try Self.sent(id, account, own: own, database)
      }
    guard let row, let peer = try? JID(row["toJID"] as String), peer.bare == to.bare else {
      let what: FailureDetail =
        switch target {
        case .last: .session(.noCorrectable, to)
        case .message(let id): .session(.notSentTo, id, to)
        }
      throw Failure(.invalidParameter, stage: .input, detail: what)
    }
    var message = self
    message.replaces = row["replaces"] ?? row["id"]
    message.type = Message.Kind(rawValue: row["type"])
    return message
  }

  private static func sent(
    _ id: String, _ account: String, own: String, _ database: Database
  ) throws -> Row? {
    let selection = try database.cachedStatement(
      sql: """
        SELECT id, toJID, type, replaces FROM messages
        WHERE account = ?1 AND sender IN (?1, ?2) AND originID = ?3 AND retracts IS NULL AND NOT isRetracted
        UNION ALL
        SELECT id, toJID, type, replaces FROM messages
        WHERE account = ?1 AND sender = ?2 AND id = ?3 AND id IS NOT originID AND retracts IS NULL AND NOT isRetracted
        LIMIT 1
        """)
    return try Row.fetchOne(selection, arguments: [account, own, id])
  }

  /// The newest message that has a text and is no correction. A message in the outbox is newer than one that the server
  /// has.
  private static func lastCorrectable(
    by correction: OutboxMessage, _ account: String, own: String, _ database: Database
  ) throws -> Row? {
    let to = correction.to.bare.description
    let waiting = try database.cachedStatement(
      sql: """
        SELECT id, toJID, type, replaces FROM messages INDEXED BY outbox
        WHERE account = ?1 AND delivery < 0 AND replaces IS NULL AND body IS NOT NULL AND id <> ?3
          AND substr(toJID, 1, instr(toJID || '/', '/') - 1) = ?2
        ORDER BY position DESC LIMIT 1
        """)
    if let row = try Row.fetchOne(waiting, arguments: [account, to, correction.id]) { return row }
    let selection = try database.cachedStatement(
      sql: """
        SELECT id, toJID, type, replaces FROM messages INDEXED BY messagesByPeer
        WHERE account = ?1 AND peer = ?2 AND place IS NOT NULL AND direction = 1 AND sender = ?3 AND id IS NOT NULL
          AND replaces IS NULL AND retracts IS NULL AND NOT isRetracted AND body IS NOT NULL AND type <> 'error'
        ORDER BY place DESC LIMIT 1
        """)
    return try Row.fetchOne(selection, arguments: [account, to, own])
  }
}
