import AgentProtocol
import FoundationEssentials
import GRDB
import XMPP

// What a later agent needs to go on where this one has stopped.

/// What it takes to go on with a session after the end of the agent.
package struct Resumption: Codable, Sendable, Equatable {
  package var stream: StreamManagement.Snapshot
  /// What others see; nil where they see nothing.
  package var presence: PresenceIntent.Value?

  /// As it is kept.
  package var text: String? { (try? JSONEncoder().encode(self)).map { String(decoding: $0, as: UTF8.self) } }

  package init(stream: StreamManagement.Snapshot, presence: PresenceIntent.Value?) {
    self.stream = stream
    self.presence = presence
  }

  /// Nil for what no agent of this version has kept.
  package init?(_ text: String) {
    guard let resumption = try? JSONDecoder().decode(Self.self, from: Data(text.utf8)) else { return nil }
    self = resumption
  }
}

/// What is kept of an account's streams.
package struct StreamRecord: Sendable, Equatable {
  /// ``Resumption/text``; nil where nothing can be resumed.
  package var resumption: String?
  /// The newest message of the archive up to which all are kept; empty: the archive was. nil: not known.
  package var archivePosition: String?

  package static func load(_ account: String, _ database: Database) throws -> StreamRecord {
    let selection = try database.cachedStatement(
      sql: "SELECT resumption, archivePosition FROM streams WHERE account = ?")
    guard let row = try Row.fetchOne(selection, arguments: [account]) else { return StreamRecord() }
    return StreamRecord(resumption: row["resumption"], archivePosition: row["archivePosition"])
  }

  package static func save(resumption: String?, of account: String, _ database: Database) throws {
    let change = try database.cachedStatement(
      sql: """
        INSERT INTO streams (account, resumption) VALUES (?1, ?2)
        ON CONFLICT (account) DO UPDATE SET resumption = ?2
        """)
    try change.execute(arguments: [account, resumption])
  }

  package static func save(archivePosition: String, of account: String, _ database: Database) throws {
    let change = try database.cachedStatement(
      sql: """
        INSERT INTO streams (account, archivePosition) VALUES (?1, ?2)
        ON CONFLICT (account) DO UPDATE SET archivePosition = ?2
        """)
    try change.execute(arguments: [account, archivePosition])
  }
}
