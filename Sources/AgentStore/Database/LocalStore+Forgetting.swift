import AgentProtocol
import GRDB
import Glibc

// Deleting an account removes all of its data from every file of the store.

extension LocalStore {
  /// Deletes all data of an account. On return, no file of the store contains any of it.
  ///
  /// - Parameter patience: how long to wait for readers of the database, since old data stays in the log while one of
  ///   them reads.
  /// - Throws: `databaseError`, also where a reader takes longer.
  package func forget(_ account: String, patience: Duration = .seconds(10)) async throws(Failure) {
    try await change(durably: true) { try Self.forget(account, $0) }
    try await inBackground { store throws(Failure) in try store.erase(patience) }
  }

  /// Deletes the data without an agent; blocks on the disk. Does not create a database.
  package static func forget(_ account: String, at path: String) throws(Failure) {
    guard access(path, F_OK) == 0 else { return removeSetAside(path) }
    let store = try LocalStore(path: path)
    do { try store.database.write { try forget(account, $0) } } catch { throw failure(error, path) }
    try store.erase(.seconds(10))
  }

  private static func forget(_ account: String, _ database: Database) throws {
    for table in ["messages", "streams", "gaps", "receipts", "addressees"] + contactTables
      + conversationTables
    {
      try database.execute(sql: "DELETE FROM \(table) WHERE account = ?", arguments: [account])
    }
    // The segments of the index contain words of deleted messages until they are merged.
    try rebuildSearch(database)
  }

  /// Removes all deleted data from the files.
  private func erase(_ patience: Duration) throws(Failure) {
    do {
      // An earlier version did not overwrite deleted data.
      try database.writeWithoutTransaction { try $0.execute(sql: "VACUUM") }
      try emptyLog(patience)
    } catch {
      throw Self.failure(error, path)
    }
    Self.removeSetAside(path)
  }

  /// Moves the write-ahead log into the database and truncates it.
  private func emptyLog(_ patience: Duration) throws {
    let start = ContinuousClock.now
    while true {
      do {
        _ = try database.writeWithoutTransaction { try $0.checkpoint(.truncate) }
        return
      } catch let error as DatabaseError where error.resultCode.primaryResultCode == .SQLITE_BUSY {
        guard ContinuousClock.now - start < patience else {
          throw Failure(
            .databaseError, stage: .store,
            detail: .about(path, FailureDetail.store(.logNotRead)))
        }
      }
    }
  }

  /// Deletes the damaged databases that were moved aside, and the copy made by an upgrade: they contain data of all
  /// accounts.
  private static func removeSetAside(_ path: String) {
    let place = path.lastIndex(of: "/")
    let directory = place.map { String(path[..<$0]) } ?? "."
    let name = place.map { String(path[path.index(after: $0)...]) } ?? path
    guard let entries = opendir(directory) else { return }
    defer { closedir(entries) }
    while let entry = readdir(entries) {
      let file = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if file.hasPrefix("\(name).corrupt-") || file.hasPrefix(name + StoreUpgrade.copySuffix) {
        unlink("\(directory)/\(file)")
      }
    }
  }
}
