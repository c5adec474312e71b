import AgentProtocol
import AgentSystem
import GRDB
import Glibc
import Logging

// A database that SQLite cannot read is moved aside, and the agent continues with a new one.

extension LocalStore {
  static func isDamage(_ error: any Error) -> Bool {
    guard let error = error as? DatabaseError else { return false }
    return [.SQLITE_CORRUPT, .SQLITE_NOTADB].contains(error.resultCode.primaryResultCode)
  }

  /// Whether only the search index is damaged, which can be rebuilt from the messages.
  static func isDamagedIndex(_ error: any Error) -> Bool {
    (error as? DatabaseError)?.extendedResultCode == .SQLITE_CORRUPT_VTAB
  }

  /// Creates a new database with the data that can still be read, and moves the damaged one aside. If the process is
  /// killed meanwhile, the damaged database stays in its place.
  static func replace(
    _ path: String, _ log: Logger?
  ) throws(Failure) -> (database: DatabaseQueue, damage: Damage) {
    let fresh = path + ".fresh"
    do {
      for suffix in ["", "-wal", "-shm"] { unlink(fresh + suffix) }
      let database = try connect(fresh)
      try Salvage.migrate(database, asFarAs: path)
      try database.write { database in
        // Greater than every earlier cursor, because there were never as many events as microseconds.
        try database.execute(
          sql: "INSERT INTO meta (key, value) VALUES ('cursor', ?)", arguments: [microseconds()])
      }
      let salvage = try Salvage(from: path, into: database)
      try database.close()
      let target = try moveAside(path)
      if rename(fresh, path) != 0 { throw Errno.last.failure(path) }
      log?.error("a damaged database was moved to \(target): \(salvage.summary)")
      return (try open(path), Damage(path: path, movedAside: target, salvage: salvage))
    } catch {
      throw failure(error, path)
    }
  }

  /// Moves the database aside; returns its new path.
  private static func moveAside(_ path: String) throws(Failure) -> String {
    let stem = "\(path).corrupt-\(time(nil))"
    var target = stem
    var number = 1
    while access(target, F_OK) == 0 {
      number += 1
      target = "\(stem)-\(number)"
    }
    if rename(path, target) != 0 { throw Errno.last.failure(path) }
    // The log of the old database would be applied to the new one.
    for suffix in ["-wal", "-shm"] { rename(path + suffix, target + suffix) }
    return target
  }

  /// Microseconds since 1970.
  private static func microseconds() -> Int64 {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1000
  }
}
