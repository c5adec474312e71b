import AgentProtocol
import GRDB

// The write-ahead log of the database contains committed data that is missing from the database file.

extension LocalStore {
  /// Schedules emptying the log. A log that is written constantly is copied into the database at a certain size and
  /// then restarted.
  func tidyLater() {
    guard changes.planTidying() else { return }
    Task.detached { [tidiness, weak self] in
      try await Task.sleep(for: tidiness)
      guard let self else { return }
      changes.beginTidying()
      try? await inBackground { store throws(Failure) in store.tidy() }
    }
  }

  /// Moves the log into the database and truncates it, unless another process is reading it. Blocks on the disk.
  func tidy() {
    try? database.writeWithoutTransaction { database in
      try database.execute(sql: "PRAGMA busy_timeout = 0")
      defer { try? database.execute(sql: "PRAGMA busy_timeout = 5000") }
      _ = try database.checkpoint(.truncate)
    }
  }

  /// Moves the log into the database file after the last write. Blocks on the disk.
  ///
  /// The database stays open for late readers.
  package func finish() {
    try? restoreFile()
    try? database.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
    removeCopy()
  }
}
