import AgentProtocol
import AgentSystem
import GRDB
import Glibc
import Logging
import NIOConcurrencyHelpers
import NIOPosix

/// The agent's database: all stored data except the accounts.
///
/// SQLite in WAL mode, mode 0600 in a directory of mode 0700. Every call blocks on the disk: on an event loop or
/// in an actor use ``BlockingStore/inBackground(_:)``.
package final class LocalStore: BlockingStore {
  private struct State {
    var database: DatabaseQueue {
      didSet { files = DatabaseFiles(database.path) }
    }
    /// The identities of the files that were opened.
    var files: DatabaseFiles
    var condition = StoreCondition()
    var onNews: (@Sendable (StoreNews) -> Void)?
  }

  private let state: NIOLockedValueBox<State>
  let changes = ChangeQueue()
  package let path: String
  private let log: Logger?
  /// The delay between a change and emptying the log, so that further changes are included.
  let tidiness: Duration
  private let repairing = NIOLock()

  package var database: DatabaseQueue { state.withLockedValue { $0.database } }
  /// The path to which a damaged database was moved, to tell the user.
  package var movedAside: String? { condition.damage?.movedAside }
  package var files: DatabaseFiles { state.withLockedValue { $0.files } }
  /// The current problems of the database.
  package var condition: StoreCondition { state.withLockedValue { $0.condition } }

  /// Opens the database at `path`, or creates it.
  ///
  /// A damaged database is moved aside and replaced. Throws `databaseError` (33002) where that fails, and where the
  /// database was written by a later version.
  package convenience init(path: String, log: Logger? = nil) throws(Failure) {
    try self.init(path: path, log: log, tidiness: .seconds(30))
  }

  package init(path: String, log: Logger? = nil, tidiness: Duration) throws(Failure) {
    let directory = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    try PrivateDirectory.ensure(directory)
    do {
      state = NIOLockedValueBox(State(database: try Self.open(path, log: log), files: DatabaseFiles(path)))
    } catch {
      guard Self.isDamage(error) else { throw Self.failure(error, path) }
      let (database, damage) = try Self.replace(path, log)
      state = NIOLockedValueBox(
        State(database: database, files: DatabaseFiles(path), condition: StoreCondition(damage: damage)))
    }
    self.path = path
    self.log = log
    self.tidiness = tidiness
  }

  /// Reserves `count` event cursors; returns the last cursor reserved before. A range is never returned twice, even
  /// after a crash.
  package func reserveCursors(_ count: Int64) throws(Failure) -> Int64 {
    try write { database in
      let last = try Int64.fetchOne(database, sql: "SELECT value FROM meta WHERE key = 'cursor'") ?? 0
      let (next, overflow) = last.addingReportingOverflow(count)
      try database.execute(
        sql: "INSERT OR REPLACE INTO meta (key, value) VALUES ('cursor', ?)",
        arguments: [overflow ? Int64.max : next])
      return last
    }
  }

  /// Sets the handler for later news about the store. Earlier problems are in ``condition``.
  package func tell(_ onNews: @escaping @Sendable (StoreNews) -> Void) {
    state.withLockedValue { $0.onNews = onNews }
  }

  /// Writes in a separate transaction. Blocks on the disk.
  private func write<Value>(_ body: (Database) throws -> Value) throws(Failure) -> Value {
    let database = database
    do {
      do {
        return try database.write(body)
      } catch  where repair(database, after: error) {
        return try self.database.write(body)
      }
    } catch {
      throw Self.failure(error, path)
    }
  }

  /// Repairs the database if the error says that it is damaged; returns whether it did. Blocks on the disk. Operations
  /// on the database must have ended.
  ///
  /// - Parameter damaged: the database that caused the error; another thread may have replaced it meanwhile.
  package func repair(_ damaged: DatabaseQueue, after error: any Error) -> Bool {
    guard Self.isDamage(error) else { return false }
    return repairing.withLock {
      if database !== damaged { return true }
      if Self.isDamagedIndex(error), (try? damaged.write(Self.rebuildSearch)) != nil {
        log?.error("the index of the messages was damaged and has been rebuilt")
        return true
      }
      // The old database is closed when its last reader has finished.
      do throws(Failure) {
        let (fresh, damage) = try Self.replace(path, log)
        let tell = state.withLockedValue { state in
          state.database = fresh
          state.condition.damage = damage
          return state.onNews
        }
        tell?(StoreNews(cause: damage.failure, lost: damage.salvage.lost))
        return true
      } catch {
        log?.error("a damaged database cannot be replaced", metadata: ["failure": "\(error.message)"])
        return false
      }
    }
  }

  /// Replaces the database. Operations on the old one must have ended.
  func replaceDatabase(_ new: DatabaseQueue) { state.withLockedValue { $0.database = new } }

  /// Records the result of a write, nil for success, and reports a change.
  func noteWrite(_ error: (any Error)?) {
    if let error, !(error is Failure), !StoreCondition.isObstacle(error) { return }
    let obstacle = error.map { Self.failure($0, path) }
    let tell = state.withLockedValue { $0.condition.wrote(obstacle) ? $0.onNews : nil }
    tell?(StoreNews(cause: obstacle))
  }

  /// The times until which servers are left alone, in seconds since 1970.
  package func rateLimits() throws(Failure) -> [String: Double] {
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

  /// Sets the time, in seconds since 1970, until which a server is left alone. Times in the past are deleted.
  package func setRateLimit(_ until: Double, of server: String) throws(Failure) {
    try write { database in
      try database.execute(
        sql: "DELETE FROM meta WHERE key LIKE 'rateLimit %' AND value < unixepoch()")
      try database.execute(
        sql: "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)",
        arguments: ["rateLimit \(server)", until])
    }
  }

  /// Opens the database at `path` for reading, beside a running agent or without one; nil where there is none. A
  /// database of an earlier version is upgraded, and a damaged one is left as it is.
  ///
  /// - Throws: `databaseError` if it cannot be read.
  static func forReading(_ path: String) throws(Failure) -> DatabaseQueue? {
    guard access(path, F_OK) == 0 else { return nil }
    func current() throws -> DatabaseQueue? {
      let database = try reader(path)
      return try database.read { try isCurrent($0) } ? database : nil
    }
    do {
      if let database = try current() { return database }
      _ = try LocalStore(path: path)
      return try current()
    } catch {
      throw failure(error, path)
    }
  }

  /// Opens a database for reading beside a writer.
  static func reader(_ path: String) throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.label = "imctl"
    configuration.readonly = true
    configuration.busyMode = .timeout(5)
    return try DatabaseQueue(path: path, configuration: configuration)
  }

  package static func open(_ path: String, log: Logger? = nil) throws -> DatabaseQueue {
    let database = try connect(path)
    if try !database.read(isCurrent) { try StoreUpgrade.run(database, log) }
    return database
  }

  /// Opens the database, or creates an empty one.
  static func connect(_ path: String) throws -> DatabaseQueue {
    // SQLite gives the other files the mode of this one.
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
    // Larger checkpoints, because a process that sends much waits for each of them. A log that grew because of a reader
    // is truncated. Deleted data is overwritten.
    configuration.prepareDatabase {
      try $0.execute(
        sql: """
          PRAGMA wal_autocheckpoint = 4000;
          PRAGMA journal_size_limit = 16777216;
          PRAGMA secure_delete = ON
          """)
    }
    return try DatabaseQueue(path: path, configuration: configuration)
  }

  /// Whether all migrations are applied. Throws where the database was written by a later version.
  package static func isCurrent(_ database: Database) throws -> Bool {
    let migrator = Schema.migrator()
    if try migrator.hasBeenSuperseded(database) { throw TooNew() }
    return try migrator.hasCompletedMigrations(database)
  }

  /// Whether the database was written by an earlier version.
  static func isEarlier(_ database: Database) throws -> Bool {
    try Row.fetchOne(database, sql: "SELECT 1 FROM pragma_table_info('messages') WHERE name = 'delivery'")
      == nil
  }

  private struct TooNew: Error {}

  package static func failure(_ error: any Error, _ path: String) -> Failure {
    if let failure = error as? Failure { return failure }
    if error is TooNew {
      return Failure(.databaseError, stage: .store, detail: .about(path, FailureDetail.store(.laterVersion)))
    }
    var why =
      (error as? DatabaseError).map { FailureDetail.text($0.message ?? "\($0.resultCode)") }
      ?? .store(.cannotOpen)
    // SQLite reports the same error for a broken disk.
    if StoreCondition.isObstacle(error), access(path, W_OK) != 0, errno == EROFS {
      why = .store(.readOnly)
    }
    return Failure(.databaseError, stage: .store, detail: .about(path, why))
  }
}
