import AgentProtocol
import FoundationEssentials
import GRDB
import XMPP

// The data with which a later agent continues where this one has stopped.

/// The data for resuming a session after the end of the agent.
package struct Resumption: Codable, Sendable, Equatable {
  package var stream: StreamManagement.Snapshot
  /// The presence that others see; nil where they see none.
  package var presence: Availability?

  /// The stored form.
  package var text: String? { (try? JSONEncoder().encode(self)).map { String(decoding: $0, as: UTF8.self) } }

  package init(stream: StreamManagement.Snapshot, presence: Availability?) {
    self.stream = stream
    self.presence = presence
  }

  /// Returns nil for a text that no agent of this version has written.
  package init?(_ text: String) {
    guard let resumption = try? JSONDecoder().decode(Self.self, from: Data(text.utf8)) else { return nil }
    self = resumption
  }
}

/// The stored data about an account's streams.
package struct StreamRecord: Sendable, Equatable {
  /// ``Resumption/text``; nil where no session can be resumed.
  package var resumption: String?
  /// The ID of the message up to which the archive is stored; empty for an empty archive, nil while unknown.
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
