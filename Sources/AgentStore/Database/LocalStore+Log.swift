import AgentProtocol
import GRDB

// The write-ahead log of the database: what is in it belongs to the database, and is missing from a copy of its file.

extension LocalStore {
  /// Has the log emptied in a while. A log that is written all the time is copied into the database when it has a
  /// certain size, and then begun anew.
  func tidyLater() {
    guard changes.planTidying() else { return }
    Task.detached { [tidiness, weak self] in
      try await Task.sleep(for: tidiness)
      guard let self else { return }
      changes.beginTidying()
      try? await inBackground { store throws(Failure) in store.tidy() }
    }
  }

  /// Moves what the log has into the database, and cuts it off; not where another process reads it at this moment.
  /// Blocks on the disk.
  func tidy() {
    try? database.writeWithoutTransaction { database in
      try database.execute(sql: "PRAGMA busy_timeout = 0")
      defer { try? database.execute(sql: "PRAGMA busy_timeout = 5000") }
      _ = try database.checkpoint(.truncate)
    }
  }

  /// Nothing more is going to be written: the one file has it all. Blocks on the disk.
  ///
  /// The database stays open: who still asks it something is to be told.
  package func finish() {
    try? restoreFile()
    try? database.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
    removeCopy()
  }
}
