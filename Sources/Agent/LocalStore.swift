import AgentProtocol
import GRDB
import Glibc
import Logging
import NIOPosix
import Synchronization

/// The agent's database: what outlives it beside the accounts.
///
/// SQLite in WAL mode, mode 0600 in a directory of mode 0700. Every call blocks on the disk: on an event loop or
/// in an actor use ``BlockingStore/inBackground(_:)``.
public final class LocalStore: BlockingStore {
  private struct State {
    var database: DatabaseQueue
    var movedAside: String?
  }

  private let state: Mutex<State>
  let changes = ChangeQueue()
  public let path: String
  private let log: Logger?

  var database: DatabaseQueue { state.withLock { $0.database } }
  /// Where a file was moved that SQLite could not read, to tell the user.
  public var movedAside: String? { state.withLock { $0.movedAside } }

  /// Opens the database at `path` and makes it where there is none.
  ///
  /// A damaged one is moved aside and a fresh one made. Throws `databaseError` (33002) where that cannot be done, and
  /// where the database is of a later version than this one.
  public init(path: String, log: Logger? = nil) throws(Failure) {
    let directory = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    try PrivateDirectory.ensure(directory)
    do {
      state = Mutex(State(database: try Self.open(path)))
    } catch {
      guard Self.isDamage(error) else { throw Self.failure(error, path) }
      let (database, target) = try Self.replace(path, log)
      state = Mutex(State(database: database, movedAside: target))
    }
    self.path = path
    self.log = log
  }

  /// Sets aside `count` event cursors; gives the last one that was set aside before. Never gives the same range
  /// again, whatever happens to the process.
  public func reserveCursors(_ count: Int64) throws(Failure) -> Int64 {
    do {
      return try database.write { database in
        let last = try Int64.fetchOne(database, sql: "SELECT value FROM meta WHERE key = 'cursor'") ?? 0
        let (next, overflow) = last.addingReportingOverflow(count)
        try database.execute(
          sql: "INSERT OR REPLACE INTO meta (key, value) VALUES ('cursor', ?)",
          arguments: [overflow ? Int64.max : next])
        return last
      }
    } catch {
      throw Self.failure(error, path)
    }
  }

  /// Makes the database one that can be used, where an error says that it is damaged; whether it did. Blocks on the
  /// disk; what was going on in it must have ended.
  func repair(after error: any Error) -> Bool {
    guard Self.isDamage(error) else { return false }
    if Self.isDamagedIndex(error), (try? database.write(Self.rebuildSearch)) != nil {
      log?.error("the index of the messages was damaged, and was made again")
      return true
    }
    try? database.close()
    do {
      let (fresh, target) = try Self.replace(path, log)
      state.withLock { $0 = State(database: fresh, movedAside: target) }
      return true
    } catch {
      log?.error("a damaged database cannot be replaced", metadata: ["failure": "\(error.message)"])
      return false
    }
  }

  /// Until when which server is left alone, in seconds since 1970.
  func rateLimits() throws(Failure) -> [String: Double] {
    do {
      return try database.read { database in
        let rows = try Row.fetchAll(
          database, sql: "SELECT substr(key, 11), value FROM meta WHERE key LIKE 'rateLimit %'")
        return Dictionary(rows.map { ($0[0], $0[1]) }, uniquingKeysWith: max)
      }
    } catch {
      throw Self.failure(error, path)
    }
  }

  /// Leaves a server alone until a time, in seconds since 1970. Times that have passed are forgotten.
  func setRateLimit(_ until: Double, of server: String) throws(Failure) {
    do {
      try database.write { database in
        try database.execute(
          sql: "DELETE FROM meta WHERE key LIKE 'rateLimit %' AND value < unixepoch()")
        try database.execute(
          sql: "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)",
          arguments: ["rateLimit \(server)", until])
      }
    } catch {
      throw Self.failure(error, path)
    }
  }

  /// Opens a database to read it beside whoever writes it.
  static func reader(_ path: String) throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.label = "imctl"
    configuration.readonly = true
    configuration.busyMode = .timeout(5)
    return try DatabaseQueue(path: path, configuration: configuration)
  }

  static func open(_ path: String) throws -> DatabaseQueue {
    // SQLite gives the files beside it the mode of this one.
    do {
      let file = try FileDescriptor(opening: path, O_RDWR | O_CREAT | O_NOFOLLOW)
      guard try file.status().st_uid == geteuid() else { throw Errno(EPERM) }
    } catch let error as Errno {
      throw error.failure(path)
    }
    var configuration = Configuration()
    configuration.label = "imctl"
    configuration.busyMode = .timeout(5)
    configuration.journalMode = .wal
    // What is written is copied into the database in larger parts: whoever sends much waits for that less often.
    // What is deleted is overwritten.
    configuration.prepareDatabase {
      try $0.execute(sql: "PRAGMA wal_autocheckpoint = 4000; PRAGMA secure_delete = ON")
    }
    let database = try DatabaseQueue(path: path, configuration: configuration)
    if try !database.read(isCurrent) { try migrator.migrate(database) }
    return database
  }

  /// Whether nothing is left to be migrated. Throws where the database is of a later version than this one.
  static func isCurrent(_ database: Database) throws -> Bool {
    let migrator = migrator
    if try migrator.hasBeenSuperseded(database) { throw TooNew() }
    return try migrator.hasCompletedMigrations(database)
  }

  private struct TooNew: Error {}

  static var migrator: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("meta") { database in
      try database.create(table: "meta", options: [.strict, .withoutRowID]) { table in
        table.primaryKey("key", .text)
        table.column("value", .any)
      }
    }
    migrator.registerMigration("messages", migrate: createMessages)
    migrator.registerMigration("search", migrate: createSearch)
    migrator.registerMigration("archiveGaps", migrate: createArchiveGaps)
    migrator.registerMigration("contacts", migrate: createContacts)
    migrator.registerMigration("receipts", migrate: createReceipts)
    migrator.registerMigration("insertions", migrate: dropInsertionTrigger)
    migrator.registerMigration("deviceEvents", migrate: DeviceEvent.createTable)
    migrator.registerMigration("retractions", migrate: createRetractions)
    migrator.registerMigration("conversations", migrate: createConversations)
    migrator.registerMigration("receiptWishes", migrate: addReceiptWishes)
    migrator.registerMigration("lookAlikes", migrate: ContactEvent.addLookAlikes)
    migrator.registerMigration("refusals", migrate: addRefusals)
    migrator.registerMigration("corrections", migrate: addCorrections)
    migrator.registerMigration("threads", migrate: indexThreads)
    migrator.registerMigration("copies", migrate: addCopies)
    return migrator
  }

  static func failure(_ error: any Error, _ path: String) -> Failure {
    if let failure = error as? Failure { return failure }
    if error is TooNew {
      let why =
        Language.current == .chinese ? "由更新版本的 imctl 创建" : "made by a later version of imctl"
      return Failure(.databaseError, stage: .store, detail: "\(path): \(why)")
    }
    let why = (error as? DatabaseError).map { $0.message ?? "\($0.resultCode)" } ?? "cannot be opened"
    return Failure(.databaseError, stage: .store, detail: "\(path): \(why)")
  }
}
