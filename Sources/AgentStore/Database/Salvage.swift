import AgentProtocol
import FoundationEssentials
import GRDB
import Glibc

/// The data that was copied from a damaged database into a new one.
///
/// SQLite's own recovery reads pages without the schema, but it is not part of the system's library. Without it, a
/// table is read from its start up to the damage, and from its end back to it. A malformed schema entry hides only its
/// own table, which is then read in a copy with the schema of a new database. Rows that do not fit the table are
/// dropped. Data from a database of an earlier version is copied into one of that version and then migrated.
struct Salvage: Sendable, Equatable {
  /// The IDs of outbox messages that are lost, by account.
  private(set) var lost: [String: [String]] = [:]
  /// Whether the IDs of all outbox messages could be read.
  private(set) var isOutboxKnown = true

  /// A description of what happened to the outbox.
  var summary: FailureDetail {
    if !isOutboxKnown { return .store(.outboxNotRead) }
    let ids = lost.values.flatMap(\.self).sorted()
    if ids.isEmpty { return .store(.nothingLost) }
    let named = ids.prefix(Self.maximumNamed).joined(separator: ", ")
    let more = ids.count - Self.maximumNamed
    return more > 0 ? .store(.lostMore, named, more) : .store(.lost, named)
  }

  /// The maximum number of IDs in a text.
  private static let maximumNamed = 10

  /// Migrates the new database to the version of the damaged one.
  static func migrate(_ fresh: DatabaseQueue, asFarAs path: String) throws {
    try Schema.migrator().migrate(fresh, upTo: isEarlier(path) ? Schema.beforeOneRow : Schema.oneRow)
  }

  private static func isEarlier(_ path: String) -> Bool {
    guard let damaged = try? reader(path) else { return false }
    defer { try? damaged.close() }
    let isKnown = try? damaged.read { database in
      try String.fetchAll(database, sql: "SELECT identifier FROM grdb_migrations").contains(Schema.oneRow)
    }
    if let isKnown { return !isKnown }
    let hasColumns = try? damaged.read { database in
      try Row.fetchOne(
        database,
        sql: """
          SELECT 1 FROM pragma_table_info('outbox') UNION ALL
          SELECT 1 FROM pragma_table_info('messages') WHERE name = 'isFromOutbox'
          """) != nil
    }
    return hasColumns == true
  }

  /// Copies the readable data and migrates it. Throws where the new database cannot be written.
  init(from path: String, into fresh: DatabaseQueue) throws {
    let tables = try fresh.read(Table.all)
    var (hidden, waiting) = try Self.copy(tables, from: path, into: fresh)
    if !hidden.isEmpty || waiting == nil, let copy = try? Self.mended(path, as: fresh) {
      defer { for suffix in ["", "-wal", "-shm"] { unlink(copy + suffix) } }
      let (_, more) = try Self.copy(hidden, from: copy, into: fresh)
      if let more { waiting = more.union(waiting ?? []) }
    }
    isOutboxKnown = waiting != nil
    try Schema.migrator().migrate(fresh)
    let missing = try fresh.write { [waiting] database in
      // The index has the words of the copied messages.
      try LocalStore.rebuildSearch(database)
      return try (waiting ?? []).filter { try !$0.isKept(database) }
    }
    lost = Dictionary(grouping: missing, by: \.account).mapValues { $0.map(\.id).sorted() }
  }

  /// A message in the outbox.
  private struct Waiting: Hashable {
    let account: String
    let id: String

    /// Whether the message is still in the outbox or in the history.
    func isKept(_ database: Database) throws -> Bool {
      let selection = try database.cachedStatement(
        sql: "SELECT 1 FROM messages WHERE account = ?1 AND sender = ?1 AND originID = ?2")
      return try Row.fetchOne(selection, arguments: [account, id]) != nil
    }

    /// Reads the outbox from an index, which may be intact where the table is not.
    static func inIndex(isEarlier: Bool) -> String {
      isEarlier
        ? "SELECT account, id FROM outbox ORDER BY account, id"
        : "SELECT account, id FROM messages INDEXED BY outbox WHERE delivery < 0"
    }

    static func inTable(isEarlier: Bool) -> String {
      isEarlier
        ? "SELECT account, id FROM outbox NOT INDEXED"
        : "SELECT account, id FROM messages NOT INDEXED WHERE delivery < 0"
    }

    static func all(_ sql: String, _ database: Database) throws -> Set<Waiting> {
      var all: Set<Waiting> = []
      let rows = try Row.fetchCursor(database, sql: sql)
      while let row = try rows.next() {
        if let account = String.fromDatabaseValue(row[0]), let id = String.fromDatabaseValue(row[1]) {
          all.insert(Waiting(account: account, id: id))
        }
      }
      return all
    }
  }

  /// Opens the database; ignores malformed schema entries.
  private static func reader(_ path: String) throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.readonly = true
    configuration.prepareDatabase { try $0.execute(sql: "PRAGMA writable_schema = ON") }
    return try DatabaseQueue(path: path, configuration: configuration)
  }

  /// Copies tables; returns those that are hidden, and all outbox messages: nil where they are unknown.
  private static func copy(
    _ tables: [Table], from path: String, into fresh: DatabaseQueue
  ) throws -> (hidden: [Table], waiting: Set<Waiting>?) {
    guard let damaged = try? reader(path) else { return (tables, nil) }
    defer { try? damaged.close() }
    var hidden: [Table] = []
    for table in tables where try !copy(table, from: damaged, into: fresh) { hidden.append(table) }
    let isEarlier = try !fresh.read { try Schema.migrator().hasCompletedMigrations($0) }
    let waiting = try? damaged.read { try Waiting.all(Waiting.inIndex(isEarlier: isEarlier), $0) }
    let rows = try? damaged.read { try Waiting.all(Waiting.inTable(isEarlier: isEarlier), $0) }
    if let waiting, let rows { return (hidden, waiting.union(rows)) }
    return (hidden, waiting ?? rows)
  }

  /// Copies a table; returns false where it is hidden. Throws where the new database cannot be written.
  private static func copy(
    _ table: Table, from damaged: DatabaseQueue, into fresh: DatabaseQueue
  ) throws -> Bool {
    var unwritable: (any Error)?
    let isThere = try? damaged.read { damaged in
      let there = try String.fetchAll(
        damaged, sql: "SELECT name FROM pragma_table_info(?)", arguments: [table.name])
      let columns = table.columns.filter(there.contains)
      if columns.isEmpty { return false }
      do {
        try fresh.write { try copy(table, columns, from: damaged, into: $0) }
      } catch {
        unwritable = error
      }
      return true
    }
    if let unwritable { throw unwritable }
    return isThere ?? false
  }

  private static func copy(
    _ table: Table, _ columns: [String], from damaged: Database, into fresh: Database
  ) throws {
    let names = columns.map(\.quotedDatabaseIdentifier).joined(separator: ", ")
    let places = columns.map { _ in "?" }.joined(separator: ", ")
    let insertion = try fresh.makeStatement(
      sql: "INSERT OR IGNORE INTO \(table.name) (\(names)) VALUES (\(places))")
    for direction in ["ASC", "DESC"] {
      let order = table.key.map { "\($0.quotedDatabaseIdentifier) \(direction)" }.joined(separator: ", ")
      do {
        let rows = try Row.fetchCursor(damaged, sql: "SELECT \(names) FROM \(table.name) ORDER BY \(order)")
        while let row = try rows.next() {
          do {
            try insertion.execute(arguments: StatementArguments(row.databaseValues))
          } catch let error as DatabaseError
            where error.resultCode.primaryResultCode == .SQLITE_CONSTRAINT
          {
            // The row does not fit the table.
          } catch {
            throw Unwritable(error: error)
          }
        }
        return
      } catch let error as Unwritable {
        throw error.error
      } catch {
        // The rows behind the damage are read from the other end.
      }
    }
  }

  private struct Unwritable: Error { let error: any Error }

  /// Makes a copy of the damaged database whose schema has the tables of a new one. Throws where that fails.
  private static func mended(_ path: String, as fresh: DatabaseQueue) throws -> String {
    let copy = path + ".reading"
    for suffix in ["", "-wal"] where access(path + suffix, F_OK) == 0 {
      try? FileManager.default.removeItem(atPath: copy + suffix)
      try FileManager.default.copyItem(atPath: path + suffix, toPath: copy + suffix)
    }
    let schema = try fresh.read {
      try Row.fetchAll($0, sql: "SELECT type, tbl_name, sql, name FROM sqlite_master WHERE sql IS NOT NULL")
    }
    var configuration = Configuration()
    configuration.prepareDatabase { try $0.execute(sql: "PRAGMA writable_schema = ON") }
    let database = try DatabaseQueue(path: copy, configuration: configuration)
    defer { try? database.close() }
    try database.write { database in
      for object in schema {
        try database.execute(
          sql: "UPDATE sqlite_master SET type = ?, tbl_name = ?, sql = ? WHERE name = ?",
          arguments: StatementArguments(object.databaseValues))
      }
    }
    return copy
  }
}

/// A table of the new database, and how to read all of it.
private struct Table: Equatable {
  let name: String
  let columns: [String]
  /// The columns by which its rows are ordered.
  let key: [String]

  /// All tables except those of the search index and the migrations; the table with the outbox comes first.
  static func all(_ database: Database) throws -> [Table] {
    let rows = try Row.fetchAll(
      database,
      sql: """
        SELECT name, wr FROM pragma_table_list
        WHERE schema = 'main' AND type = 'table' AND name NOT GLOB 'sqlite_*' AND name NOT GLOB 'grdb_*'
        ORDER BY name <> 'outbox', name = 'messages', name
        """)
    return try rows.map { row in
      let name: String = row[0]
      let columns = try Row.fetchAll(database, sql: "SELECT name, pk FROM pragma_table_info('\(name)')")
      let key = columns.filter { ($0[1] as Int) > 0 }.sorted { ($0[1] as Int) < ($1[1] as Int) }
      return Table(
        name: name, columns: columns.map { $0[0] }, key: row[1] ? key.map { $0[0] } : ["rowid"])
    }
  }
}
