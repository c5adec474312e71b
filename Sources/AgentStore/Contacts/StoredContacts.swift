import AgentProtocol
import FoundationEssentials
import GRDB
import Glibc
import XMPPFeatures
import XMPPStanza

/// An account's stored contacts, as reported by the agent and by commands without an agent.
package enum StoredContacts {
  /// Lists a part of the contacts without an agent; blocks on the disk. Does not create a database.
  ///
  /// - Parameter account: normalised bare JID.
  package static func list(
    _ account: String, after jid: String?, limit: Int = ContactsListMethod.maximumContacts, at path: String
  ) throws(Failure) -> ContactsListMethod.Result {
    try read(path) { try list(account, after: jid, limit: limit, nil, $0) }
      ?? ContactsListMethod.Result(contacts: [], more: false, stale: true)
  }

  package static func requests(
    _ account: String, at path: String
  ) throws(Failure) -> ContactRequestsMethod.Result {
    try read(path) { try requests(account, isStale: true, $0) }
      ?? ContactRequestsMethod.Result(requests: [], stale: true)
  }

  package static func blocked(
    _ account: String, at path: String
  ) throws(Failure) -> ContactsBlockedMethod.Result {
    try read(path) { try blocked(account, isStale: true, $0) }
      ?? ContactsBlockedMethod.Result(blocked: [], stale: true)
  }

  /// Returns nil where there is no database.
  private static func read<Value>(
    _ path: String, _ body: (Database) throws -> Value
  ) throws(Failure) -> Value? {
    guard access(path, F_OK) == 0 else { return nil }
    let store = try LocalStore(path: path)
    do { return try store.database.read(body) } catch { throw LocalStore.failure(error, path) }
  }

  /// - Parameter presences: the presences of contacts; nil where they are unknown, and the stored list may be out of
  ///   date.
  package static func list(
    _ account: String, after jid: String?, limit: Int = ContactsListMethod.maximumContacts,
    _ presences: ContactPresences?, _ database: Database
  ) throws -> ContactsListMethod.Result {
    let rows = try Row.fetchAll(
      database, sql: "SELECT * FROM contacts WHERE account = ? AND jid > ? ORDER BY jid LIMIT ?",
      arguments: [account, jid ?? "", limit + 1])
    let blocked = Set(try StoredBlockList.load(account, database))
    let contacts = rows.prefix(limit).map { row in
      let jid: String = row["jid"]
      let bare = jid.bareJID
      let domain = bare.utf8.firstIndex(of: UInt8(ascii: "@")).map {
        String(bare[bare.utf8.index(after: $0)...])
      }
      return Contact(
        jid: jid, name: row["name"], groups: Roster.Item.groups(row["groups"]),
        subscription: row["subscription"], ask: row["isAsked"] ? "subscribe" : nil,
        approved: row["isApproved"],
        blocked: blocked.contains(jid) || blocked.contains(bare) || domain.map(blocked.contains) == true,
        presence: presences?[bare] ?? [], stale: presences == nil)
    }
    return ContactsListMethod.Result(
      contacts: contacts, more: rows.count > limit, stale: presences == nil)
  }

  package static func requests(
    _ account: String, isStale: Bool, _ database: Database
  ) throws -> ContactRequestsMethod.Result {
    let stored = try StoredRequests.load(account, database)
    let lookAlikes = try stored.isEmpty ? nil : LookAlikes(of: account, database)
    let requests = stored.map { stored in
      var entry = ContactRequestsMethod.Entry(
        jid: stored.jid, received: Timestamp.text(Date(timeIntervalSince1970: stored.received)),
        text: stored.text, stale: isStale)
      entry.looksLike = (try? JID(stored.jid)).flatMap { lookAlikes?.original(of: $0) }
      return entry
    }
    return ContactRequestsMethod.Result(requests: requests, stale: isStale)
  }

  package static func blocked(
    _ account: String, isStale: Bool, _ database: Database
  ) throws -> ContactsBlockedMethod.Result {
    let blocked = try StoredBlockList.load(account, database)
    return ContactsBlockedMethod.Result(
      blocked: blocked.map { ContactsBlockedMethod.Entry(jid: $0, stale: isStale) }, stale: isStale)
  }
}
