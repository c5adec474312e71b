import AgentProtocol
import AgentSystem
import GRDB
import Glibc

// The file of the database, which somebody may remove while it is open.

extension LocalStore {
  static let otherFile = "another file has taken its place"

  /// Puts the database back where it is looked for, if it was removed.
  ///
  /// - Throws: `databaseError` where that cannot be done, or another file is there.
  func putBack() async throws(Failure) { try await change { _ in } }

  /// The same in its turn among the changes. Blocks on the disk.
  func restoreFile() throws(Failure) {
    let found = FileIdentity(path)
    if let found, found == identity { return }
    guard found == nil else {
      throw Failure(.databaseError, stage: .store, detail: "\(path): \(Self.otherFile)")
    }
    let directory = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    try PrivateDirectory.ensure(directory)
    let old = database
    let copy = path + ".new"
    do {
      unlink(copy)
      try old.writeWithoutTransaction { try $0.execute(sql: "VACUUM INTO ?", arguments: [copy]) }
      // The log of the file that is gone would be applied to this one.
      for suffix in ["-wal", "-shm"] { unlink(path + suffix) }
      if chmod(copy, 0o600) != 0 || rename(copy, path) != 0 { throw Errno.last.failure(path) }
      // The old one is closed when the last of its readers has left it; SQLite knows then that its file has gone.
      replaceDatabase(try Self.open(path))
    } catch {
      unlink(copy)
      throw Self.failure(error, path)
    }
  }
}
