import AgentProtocol
import FoundationEssentials
import GRDB
import XMPPFeatures
import XMPPStanza

// An account's contacts as last reported by the server.

extension LocalStore {
  /// The tables with data about contacts, each with an account column.
  static let contactTables = [
    "contacts", "rosters", "blocked", "subscriptionRequests", "contactEvents", "forgottenContactEvents",
    "deviceEvents", "forgottenDeviceEvents",
  ]
}

/// The stored data of an account's roster other than its contacts.
package enum StoredRoster {
  /// The roster version; empty where the server gave none, nil where no roster is stored.
  package static func version(of account: String, _ database: Database) throws -> String? {
    guard
      let row = try Row.fetchOne(
        database, sql: "SELECT version FROM rosters WHERE account = ?", arguments: [account])
    else { return nil }
    let version: String? = row["version"]
    return version ?? ""
  }

  package static func save(version: String?, of account: String, _ database: Database) throws {
    let change = try database.cachedStatement(
      sql: "INSERT OR REPLACE INTO rosters (account, version) VALUES (?, ?)")
    try change.execute(arguments: [account, version])
  }

  /// The bare JIDs of all contacts.
  package static func jids(of account: String, _ database: Database) throws -> [String] {
    try String.fetchAll(database, sql: "SELECT jid FROM contacts WHERE account = ?", arguments: [account])
      .map(\.bareJID)
  }

  /// The bare JIDs of the contacts who see the account's presence.
  package static func subscribers(of account: String, _ database: Database) throws -> Set<JID> {
    let jids = try String.fetchAll(
      database, sql: "SELECT jid FROM contacts WHERE account = ? AND subscription IN ('from', 'both')",
      arguments: [account])
    return Set(jids.lazy.compactMap { (try? JID($0))?.bare })
  }

  /// Replaces the stored roster; returns the changes, of which the first roster has none.
  package static func replace(
    with roster: Roster, of account: String, _ database: Database
  ) throws -> [ContactEvent] {
    let isFirst = try version(of: account, database) == nil
    let rows = try Row.fetchAll(
      database, sql: "SELECT * FROM contacts WHERE account = ?", arguments: [account])
    var old: [JID: Roster.Item] = [:]
    for item in rows.compactMap(Roster.Item.init) { old[item.jid] = item }
    var events: [ContactEvent] = []
    var seen: Set<JID> = []
    for item in roster.items where seen.insert(item.jid).inserted {
      let before = old.removeValue(forKey: item.jid)
      if before == item { continue }
      try item.save(account, database)
      events += ContactChange.events(from: before, to: item, isOwn: false)
    }
    for item in old.values {
      try Roster.Item.delete(item.jid, of: account, database)
      events += ContactChange.events(from: item, to: nil, isOwn: false)
    }
    try save(version: roster.version, of: account, database)
    return isFirst ? [] : events
  }
}

extension Roster.Item {
  /// XML cannot contain this character, so no group name does.
  private static let separator = "\u{1F}"

  package init?(_ row: Row) {
    guard let jid = try? JID(row["jid"]) else { return nil }
    let groups: String = row["groups"]
    self.init(
      jid: jid, name: row["name"], subscription: Roster.Subscription(rawValue: row["subscription"]) ?? .none,
      isAsked: row["isAsked"], isApproved: row["isApproved"], groups: Self.groups(groups))
  }

  package static func groups(_ text: String) -> [String] {
    text.isEmpty ? [] : text.split(separator: separator).map(String.init)
  }

  package static func load(_ jid: JID, of account: String, _ database: Database) throws -> Roster.Item? {
    let selection = try database.cachedStatement(sql: "SELECT * FROM contacts WHERE account = ? AND jid = ?")
    return try Row.fetchOne(selection, arguments: [account, jid.description]).flatMap(Roster.Item.init)
  }

  package func save(_ account: String, _ database: Database) throws {
    let change = try database.cachedStatement(
      sql: """
        INSERT OR REPLACE INTO contacts (account, jid, name, subscription, isAsked, isApproved, groups)
        VALUES (?, ?, ?, ?, ?, ?, ?)
        """)
    try change.execute(arguments: [
      account, jid.description, name, subscription.rawValue, isAsked, isApproved,
      groups.joined(separator: Self.separator),
    ])
  }

  package static func delete(_ jid: JID, of account: String, _ database: Database) throws {
    let change = try database.cachedStatement(sql: "DELETE FROM contacts WHERE account = ? AND jid = ?")
    try change.execute(arguments: [account, jid.description])
  }
}

extension Roster.Push {
  /// Stores the item of the push without its version; returns the contact before and after it, nil where it is not in
  /// the list.
  ///
  /// - Parameter hasRoom: whether another contact may be stored; without room, the result for a new contact is nil.
  package func save(
    _ account: String, hasRoom: Bool, _ database: Database
  ) throws -> (old: Roster.Item?, new: Roster.Item?)? {
    let old = try Roster.Item.load(jid, of: account, database)
    switch change {
    case .set(let item):
      if old == nil, !hasRoom { return nil }
      try item.save(account, database)
      return (old, item)
    case .remove(let jid):
      try Roster.Item.delete(jid, of: account, database)
      return (old, nil)
    }
  }
}

/// The blocked JIDs.
package enum StoredBlockList {
  package static func load(_ account: String, _ database: Database) throws -> [String] {
    try String.fetchAll(
      database, sql: "SELECT jid FROM blocked WHERE account = ? ORDER BY jid", arguments: [account])
  }

  /// Replaces the stored list; returns events for the JIDs that were blocked or unblocked.
  package static func replace(
    with list: BlockList, of account: String, _ database: Database
  ) throws -> [ContactEvent] {
    let old = Set(try load(account, database))
    let new = Set(list.jids.map(\.description))
    return try change(
      of: account, isOwn: false, database, added: new.subtracting(old).sorted(),
      removed: old.subtracting(new).sorted())
  }

  package static func apply(
    _ push: BlockList.Push, of account: String, isOwn: Bool, _ database: Database
  ) throws -> [ContactEvent] {
    let known = Set(try load(account, database))
    switch push {
    case .block(let jids):
      let room = max(0, BlockList.maximumEntries - known.count)
      let new = Set(jids.map(\.description)).subtracting(known).sorted().prefix(room)
      return try change(of: account, isOwn: isOwn, database, added: Array(new))
    case .unblock(let jids):
      let gone = Set(jids.map(\.description)).intersection(known).sorted()
      return try change(of: account, isOwn: isOwn, database, removed: gone)
    case .unblockAll: return try change(of: account, isOwn: isOwn, database, removed: known.sorted())
    }
  }

  private static func change(
    of account: String, isOwn: Bool, _ database: Database, added: [String] = [], removed: [String] = []
  ) throws -> [ContactEvent] {
    let insertion = try database.cachedStatement(
      sql: "INSERT OR IGNORE INTO blocked (account, jid) VALUES (?, ?)")
    for jid in added { try insertion.execute(arguments: [account, jid]) }
    let deletion = try database.cachedStatement(sql: "DELETE FROM blocked WHERE account = ? AND jid = ?")
    for jid in removed { try deletion.execute(arguments: [account, jid]) }
    let actor: ContactEvent.Actor = isOwn ? .own : .otherDevice
    return added.map { ContactEvent(.ban, jid: $0, by: actor) }
      + removed.map { ContactEvent(.allow, jid: $0, by: actor) }
  }
}

/// Subscription requests that were neither approved nor denied.
package enum StoredRequests {
  /// The maximum number of stored requests per account. The server keeps the others and sends them again at the next
  /// login.
  package static let maximum = 1000

  package struct Entry: Sendable, Equatable {
    package var jid: String
    /// The time of the first arrival, in seconds since 1970.
    package var received: Double
    package var text: String?

    package init(jid: String, received: Double, text: String? = nil) {
      self.jid = jid
      self.received = received
      self.text = text
    }
  }

  /// Oldest first.
  package static func load(_ account: String, _ database: Database) throws -> [Entry] {
    try Row.fetchAll(
      database,
      sql: "SELECT * FROM subscriptionRequests WHERE account = ? ORDER BY received, jid",
      arguments: [account]
    ).map { Entry(jid: $0["jid"], received: $0["received"], text: $0["text"]) }
  }

  /// Stores a request; returns whether it is new and there was room.
  package static func add(
    _ request: PresenceSubscription.Request, of account: String, received: Double, _ database: Database
  ) throws -> Bool {
    let jid = request.jid.description
    // A contact who already sees the presence needs no answer.
    if try Roster.Item.load(request.jid, of: account, database)?.subscription.isFrom == true { return false }
    try database.execute(
      sql: "UPDATE subscriptionRequests SET text = coalesce(?, text) WHERE account = ? AND jid = ?",
      arguments: [request.text, account, jid])
    if database.changesCount > 0 { return false }
    let count = try Int.fetchOne(
      database, sql: "SELECT count(*) FROM subscriptionRequests WHERE account = ?", arguments: [account])
    if count ?? 0 >= maximum { return false }
    try database.execute(
      sql: "INSERT INTO subscriptionRequests (account, jid, received, text) VALUES (?, ?, ?, ?)",
      arguments: [account, jid, received, request.text])
    return true
  }

  package static func contains(_ jid: JID, of account: String, _ database: Database) throws -> Bool {
    try Bool.fetchOne(
      database, sql: "SELECT EXISTS (SELECT 1 FROM subscriptionRequests WHERE account = ? AND jid = ?)",
      arguments: [account, jid.bare.description]) ?? false
  }

  /// Removes a request; returns whether there was one.
  @discardableResult
  package static func remove(_ jid: String, of account: String, _ database: Database) throws -> Bool {
    let change = try database.cachedStatement(
      sql: "DELETE FROM subscriptionRequests WHERE account = ? AND jid = ?")
    try change.execute(arguments: [account, jid])
    return database.changesCount > 0
  }

  /// Removes all requests except those of `jids`; returns the removed JIDs.
  package static func removeAll(except jids: Set<String>, of account: String, _ database: Database) throws
    -> [String]
  {
    let gone = try load(account, database).map(\.jid).filter { !jids.contains($0) }
    for jid in gone { try remove(jid, of: account, database) }
    return gone
  }
}

extension String {
  /// The bare JID of a valid JID.
  package var bareJID: String { utf8.contains(UInt8(ascii: "/")) ? String(prefix { $0 != "/" }) : self }
}
