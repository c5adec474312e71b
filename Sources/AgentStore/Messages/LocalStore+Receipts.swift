import AgentProtocol
import GRDB
import XMPPStanza

// The delivery states of the account's messages. The key of a receipt is the cursor of its event.

extension StoredReceipt {
  /// Stores the receipt under its cursor and with its message; returns false where the same one was stored before.
  ///
  /// - Parameter own: the account's bare JID.
  package func insert(
    _ account: String, own: String, cursor: Int64, _ database: Database
  ) throws -> Bool {
    let insertion = try database.cachedStatement(
      sql: """
        INSERT OR IGNORE INTO receipts (cursor, account, id, kind, who, fromJID, time, condition, text)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        """)
    try insertion.execute(arguments: [
      cursor, account, receipt.id, receipt.kind.rawValue, sender?.bare.description ?? "", receipt.from, time,
      receipt.condition, receipt.text,
    ])
    guard database.changesCount > 0 else { return false }
    let noting = try database.cachedStatement(
      sql: """
        UPDATE messages SET delivery = ? WHERE account = ? AND sender = ? AND originID = ? AND delivery > 0
        """)
    try noting.execute(arguments: [
      StoredMessage.Delivery(receipt.kind).rawValue, account, own, receipt.id,
    ])
    return true
  }

  package init(_ row: Row) {
    let from: String = row["fromJID"]
    receipt = ReceiptEvent(
      id: row["id"], kind: ReceiptEvent.Kind(rawValue: row["kind"]) ?? .server, from: from,
      condition: row["condition"], text: row["text"])
    time = row["time"]
    sender = try? JID(from)
  }

  /// The last receipt of a message's recipient.
  ///
  /// - Parameter delivery: the delivery state of the message; without a receipt it is `sent`.
  package static func last(
    of id: String, _ delivery: StoredMessage.Delivery, _ account: String, _ database: Database
  ) throws -> ReceiptEvent? {
    if delivery == .sent { return nil }
    let selection = try database.cachedStatement(
      sql: "SELECT * FROM receipts WHERE account = ? AND id = ? ORDER BY cursor DESC LIMIT 1")
    return try Row.fetchOne(selection, arguments: [account, id]).map { StoredReceipt($0).receipt }
  }
}

extension StoredMessage.Delivery {
  init(_ kind: ReceiptEvent.Kind) {
    self =
      switch kind {
      case .server: .sent
      case .delivered: .delivered
      case .displayed: .displayed
      case .failed: .failed
      }
  }
}

extension StoredMessage {
  /// Marks the account's message with this ID as refused.
  package static func refuse(_ receipt: ReceiptEvent, _ account: String, own: String, _ database: Database)
    throws
  {
    for column in ["originID", "id"] {
      let update = try database.cachedStatement(
        sql: """
          UPDATE messages SET refusal = ?, refusalText = ?
          WHERE account = ? AND sender = ? AND \(column) = ? AND type <> 'error'
            \(column == "id" ? "AND id IS NOT originID" : "")
          """)
      try update.execute(arguments: [receipt.condition, receipt.text, account, own, receipt.id])
    }
  }

  /// The recipient of the account's message with this ID; nil where there is none.
  package static func recipient(of id: String, _ account: String, own: String, _ database: Database) throws
    -> JID?
  {
    guard let row = try find(id, of: own, account, database) else { return nil }
    return (row["toJID"] as String?).flatMap { try? JID($0) }
  }

  /// Whether a message that a correction or retraction names was sent by this sender.
  package static func isKnown(_ id: String, of sender: String, _ account: String, _ database: Database) throws
    -> Bool
  {
    try find(id, of: sender, account, database) != nil
  }

  /// Finds a message by its stanza ID or origin-id; not a message in the outbox.
  private static func find(
    _ id: String, of sender: String, _ account: String, _ database: Database
  ) throws -> Row? {
    let selection = try database.cachedStatement(
      sql: """
        SELECT toJID FROM messages WHERE account = ?1 AND sender = ?2 AND originID = ?3 AND delivery >= 0
        UNION ALL
        SELECT toJID FROM messages
        WHERE account = ?1 AND sender = ?2 AND id = ?3 AND id IS NOT originID
        LIMIT 1
        """)
    return try Row.fetchOne(selection, arguments: [account, sender, id])
  }
}

/// The JIDs to which the account has written, and who may therefore learn that it is online.
package struct Addressees {
  private let account: String
  private var kept: Set<String> = []

  package init(of account: String) { self.account = account }

  package mutating func add(_ address: String, _ database: Database) throws {
    guard kept.insert(address).inserted, let name = (try? JID(address))?.bare.description else { return }
    let insertion = try database.cachedStatement(
      sql: "INSERT OR IGNORE INTO addressees (account, jid) VALUES (?, ?)")
    try insertion.execute(arguments: [account, name])
  }

  package func contains(_ jid: JID, _ database: Database) throws -> Bool {
    let selection = try database.cachedStatement(
      sql: "SELECT 1 FROM addressees WHERE account = ? AND jid = ?")
    return try Row.fetchOne(selection, arguments: [account, jid.bare.description]) != nil
  }
}
