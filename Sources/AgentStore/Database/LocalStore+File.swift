import AgentProtocol
import AgentSystem
import GRDB
import Glibc

// Another process may remove the database file while it is open.

/// The identities of a database's files. After a removal SQLite keeps using the open files, while other processes find
/// new ones.
package struct DatabaseFiles: Equatable, Sendable {
  /// The suffixes of the files that SQLite creates beside a database with a write-ahead log.
  static let suffixes = [logSuffix, "-shm"]
  package static let logSuffix = "-wal"

  package let database: FileIdentity?
  private let others: [FileIdentity?]

  /// Whether no file is missing.
  var areAllThere: Bool { database != nil && !others.contains(nil) }

  package init(_ path: String) {
    database = FileIdentity(path)
    others = Self.suffixes.map { FileIdentity(path + $0) }
  }
}

extension LocalStore {
  /// Restores the database file, or a file that belongs to it, if it was removed.
  ///
  /// - Throws: `databaseError` where that fails, or where another file has replaced it.
  package func putBack() async throws(Failure) { try await change { _ in } }

  /// Restores the file in its turn among the changes. Blocks on the disk.
  func restoreFile() throws(Failure) {
    let (found, own) = (DatabaseFiles(path), files)
    // Missing files may have been removed as soon as they were created.
    if found == own, found.areAllThere || !hasLog { return }
    guard found.database == nil || found.database == own.database else {
      throw Failure(.databaseError, stage: .store, detail: .about(path, FailureDetail.store(.otherFile)))
    }
    let directory = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    try PrivateDirectory.ensure(directory)
    let old = database
    let copy = path + ".new"
    do {
      unlink(copy)
      try old.writeWithoutTransaction { database in
        // If the database file still exists, the log is written into it before the log is removed.
        if found.database != nil { _ = try? database.checkpoint(.truncate) }
        try database.execute(sql: "VACUUM INTO ?", arguments: [copy])
      }
      // The log of another file would be applied to this one.
      for suffix in DatabaseFiles.suffixes { unlink(path + suffix) }
      if chmod(copy, 0o600) != 0 || rename(copy, path) != 0 { throw Errno.last.failure(path) }
      // The old database is closed when its last reader has finished; SQLite then knows that its file is gone.
      replaceDatabase(try Self.open(path))
    } catch {
      unlink(copy)
      throw Self.failure(error, path)
    }
  }

  /// Whether the database has a write-ahead log, which some file systems do not support.
  private var hasLog: Bool {
    (try? database.read { try String.fetchOne($0, sql: "PRAGMA journal_mode") }) == "wal"
  }
}
