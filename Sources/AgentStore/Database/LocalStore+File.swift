import AgentProtocol
import AgentSystem
import GRDB
import Glibc

// The file of the database, which somebody may remove while it is open.

/// The files of a database: SQLite goes on in those that it has open, and whoever opens the database later finds others.
package struct DatabaseFiles: Equatable, Sendable {
  /// What SQLite puts beside a database that has a log.
  static let suffixes = [logSuffix, "-shm"]
  package static let logSuffix = "-wal"

  package let database: FileIdentity?
  private let others: [FileIdentity?]

  /// None of them is missing.
  var areAllThere: Bool { database != nil && !others.contains(nil) }

  package init(_ path: String) {
    database = FileIdentity(path)
    others = Self.suffixes.map { FileIdentity(path + $0) }
  }
}

extension LocalStore {
  /// Puts the database back where it is looked for, if it was removed, or a file that belongs to it.
  ///
  /// - Throws: `databaseError` where that cannot be done, or another file is there.
  package func putBack() async throws(Failure) { try await change { _ in } }

  /// The same in its turn among the changes. Blocks on the disk.
  func restoreFile() throws(Failure) {
    let (found, own) = (DatabaseFiles(path), files)
    // Those that are missing may have been removed as soon as they were made.
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
        // A database that is still there has it all before its log is taken away.
        if found.database != nil { _ = try? database.checkpoint(.truncate) }
        try database.execute(sql: "VACUUM INTO ?", arguments: [copy])
      }
      // The log of another file would be applied to this one.
      for suffix in DatabaseFiles.suffixes { unlink(path + suffix) }
      if chmod(copy, 0o600) != 0 || rename(copy, path) != 0 { throw Errno.last.failure(path) }
      // The old one is closed when the last of its readers has left it; SQLite knows then that its file has gone.
      replaceDatabase(try Self.open(path))
    } catch {
      unlink(copy)
      throw Self.failure(error, path)
    }
  }

  /// Some file systems cannot have one.
  private var hasLog: Bool {
    (try? database.read { try String.fetchOne($0, sql: "PRAGMA journal_mode") }) == "wal"
  }
}
