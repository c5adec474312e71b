import AgentProtocol
import AgentSystem
import GRDB
import Glibc
import Logging
import NIOConcurrencyHelpers

/// Upgrades a database that an earlier version of imctl has written.
///
/// One process does so at a time, under a lock on a file beside the database, in which it reports its progress
/// (``AgentPaths/upgrade``). If the process is interrupted, the database is either unchanged or upgraded. A copy of the
/// old database is kept until an agent has used the new one and ended properly.
package final class StoreUpgrade: Sendable {
  /// The options of an upgrade.
  package struct Terms: Sendable {
    /// Whether this process is the agent; otherwise a running agent is another process.
    package var isAgent = false
    /// Called with the progress in percent.
    package var onProgress: @Sendable (Int) -> Void = { _ in }

    package init() {}
  }

  /// The options of this process.
  package static let terms = NIOLockedValueBox(Terms())

  /// The suffix of the copy.
  package static let copySuffix = ".before-upgrade"
  /// The share of the copy in the work.
  private static let copyShare = 0.2
  /// The number of pages copied at a time.
  private static let pages: Int32 = 2000

  private let database: DatabaseQueue
  private let path: String
  private let sign: FileDescriptor
  private let onProgress: @Sendable (Int) -> Void

  /// Upgrades the database. Blocks on the disk, and while another process does the same.
  ///
  /// - Throws: `databaseError` where an agent of the earlier version uses the database, and where there is no room for
  ///   the copy or the upgrade. The database is unchanged then.
  static func run(_ database: DatabaseQueue, _ log: Logger?) throws {
    let isEmpty = try database.read { try Schema.migrator().appliedIdentifiers($0).isEmpty }
    if isEmpty { return try Schema.migrator().migrate(database) }
    let upgrade = try StoreUpgrade(database, terms.withLockedValue { $0 })
    // Another process may have upgraded it meanwhile.
    if try database.read(LocalStore.isCurrent) { return }
    try upgrade.run(log)
  }

  private init(_ database: DatabaseQueue, _ terms: Terms) throws {
    self.database = database
    path = database.path
    onProgress = terms.onProgress
    sign = try Self.lock(path + AgentPaths.upgradeSuffix)
    if !terms.isAgent, AgentLock.isHeld(inDirectoryOf: path), try !database.read(LocalStore.isCurrent) {
      throw Failure(
        .databaseError, stage: .store,
        detail: .about(path, FailureDetail.store(.usedByEarlierAgent)))
    }
  }

  private static func lock(_ path: String) throws(Failure) -> FileDescriptor {
    do throws(Errno) {
      let file = try FileDescriptor(opening: path, O_RDWR | O_CREAT | O_NOFOLLOW)
      while try !file.lock() { usleep(50_000) }
      return file
    } catch {
      throw error.failure(path)
    }
  }

  private func run(_ log: Logger?) throws {
    let start = ContinuousClock.now
    let copy = path + Self.copySuffix
    log?.notice("upgrading the database; \(copy) is a copy of the old one")
    do {
      tell(0)
      try writeCopy(at: copy)
      let migrator = Schema.migrator { done in self.tell(Self.copyShare + (1 - Self.copyShare) * done) }
      try migrator.migrate(database)
    } catch {
      unlink(copy)
      log?.error("the database could not be upgraded, and is unchanged: \(error)")
      throw failure(error)
    }
    unlink(path + AgentPaths.upgradeSuffix)
    log?.notice("the database was upgraded in \(ContinuousClock.now - start)")
  }

  private func writeCopy(at copy: String) throws {
    let new = copy + ".new"
    do {
      // No other user may read the copy.
      _ = try FileDescriptor(opening: new, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW)
      let target = try DatabaseQueue(path: new)
      defer { try? target.close() }
      try database.backup(to: target, pagesPerStep: Self.pages) { progress in
        let done = 1 - Double(progress.remainingPageCount) / Double(max(1, progress.totalPageCount))
        self.tell(Self.copyShare * done)
      }
    } catch {
      for suffix in ["", "-journal"] { unlink(new + suffix) }
      throw error
    }
    if rename(new, copy) != 0 { throw Errno.last.failure(copy) }
  }

  private func tell(_ done: Double) {
    let percent = Int(100 * done)
    let text = Array("\(percent)\n".utf8)
    pwrite(sign.number, text, text.count, 0)
    onProgress(percent)
  }

  /// Damage is handled elsewhere.
  private func failure(_ error: any Error) -> any Error {
    if LocalStore.isDamage(error) { return error }
    // SQLite does not tell what prevented a copy from being written.
    let isUnsaid = (error as? DatabaseError)?.message == "not an error"
    let why =
      isUnsaid
      ? .about(path, FailureDetail.store(.cannotCopy)) : LocalStore.failure(error, path).detail ?? .text(path)
    return Failure(.databaseError, stage: .store, detail: .store(.upgradeFailed, why))
  }
}

extension LocalStore {
  /// Called when an agent has used the database and ended properly: the copy is not needed any more. Also removes the
  /// file of an upgrade that was killed at its end.
  func removeCopy() {
    for suffix in [StoreUpgrade.copySuffix, AgentPaths.upgradeSuffix] { unlink(path + suffix) }
  }
}
