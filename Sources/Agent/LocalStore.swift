import AgentProtocol
import GRDB
import Glibc
import NIOPosix

/// The agent's database: what outlives it beside the accounts.
///
/// SQLite in WAL mode, mode 0600 in a directory of mode 0700. Every call blocks on the disk: on an event loop or
/// in an actor use ``BlockingStore/inBackground(_:)``.
public final class LocalStore: BlockingStore {
  let database: DatabaseQueue
  let changes = ChangeQueue()
  public let path: String
  /// Where a file was moved that SQLite could not read, to tell the user.
  public let movedAside: String?

  /// Opens the database at `path` and makes it where there is none.
  ///
  /// A damaged one is moved aside and a fresh one made. Throws `databaseError` (33002) where that cannot be done.
  public init(path: String) throws(Failure) {
    let directory = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    try PrivateDirectory.ensure(directory)
    var movedAside: String?
    let database: DatabaseQueue
    do {
      database = try Self.open(path)
    } catch let error as DatabaseError
      where [.SQLITE_CORRUPT, .SQLITE_NOTADB].contains(error.resultCode.primaryResultCode)
    {
      movedAside = try Self.moveAside(path)
      do {
        database = try Self.open(path)
      } catch {
        throw Self.failure(error, path)
      }
    } catch {
      throw Self.failure(error, path)
    }
    self.database = database
    self.path = path
    self.movedAside = movedAside
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

  private static func open(_ path: String) throws -> DatabaseQueue {
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
    let database = try DatabaseQueue(path: path, configuration: configuration)
    try migrator.migrate(database)
    return database
  }

  private static var migrator: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("meta") { database in
      try database.create(table: "meta", options: [.strict, .withoutRowID]) { table in
        table.primaryKey("key", .text)
        table.column("value", .any)
      }
    }
    migrator.registerMigration("messages", migrate: createMessages)
    return migrator
  }

  private static func moveAside(_ path: String) throws(Failure) -> String {
    let target = "\(path).corrupt-\(time(nil))"
    if rename(path, target) != 0 { throw Errno.last.failure(path) }
    // A log of a database that is gone would be applied to the new one.
    for suffix in ["-wal", "-shm"] { rename(path + suffix, target + suffix) }
    return target
  }

  static func failure(_ error: any Error, _ path: String) -> Failure {
    if let failure = error as? Failure { return failure }
    let why = (error as? DatabaseError).map { $0.message ?? "\($0.resultCode)" } ?? "cannot be opened"
    return Failure(.databaseError, stage: .store, detail: "\(path): \(why)")
  }
}
