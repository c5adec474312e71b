import AgentProtocol
import AgentSystem
import GRDB
import Glibc
import Logging
import NIOConcurrencyHelpers

/// Brings a database that an earlier version of imctl has made up to date.
///
/// One process does so at a time. It holds a lock on a file beside the database meanwhile, in which it tells how far it is
/// (``AgentPaths/upgrade``). Whatever ends it, the database is as it was or up to date. A copy of what it was is kept until
/// an agent has ended that has used the new one.
package final class StoreUpgrade: Sendable {
  /// How a process upgrades.
  package struct Terms: Sendable {
    /// It is the agent: an agent that runs is no other one.
    package var isAgent = false
    /// Told how much is done, in percent.
    package var onProgress: @Sendable (Int) -> Void = { _ in }

    package init() {}
  }

  /// Those of this process.
  package static let terms = NIOLockedValueBox(Terms())

  /// Of the copy, behind the name of the database.
  package static let copySuffix = ".before-upgrade"
  /// The part of the work that is the copy.
  private static let copyShare = 0.2
  /// Pages that are copied at a time.
  private static let pages: Int32 = 2000

  private let database: DatabaseQueue
  private let path: String
  private let sign: FileDescriptor
  private let onProgress: @Sendable (Int) -> Void

  /// Blocks on the disk, and while another process does the same.
  ///
  /// - Throws: `databaseError` where an agent of the earlier version uses the database, and where there is no room for the
  ///   copy or for the work. It is as it was then.
  static func run(_ database: DatabaseQueue, _ log: Logger?) throws {
    let isEmpty = try database.read { try Schema.migrator().appliedIdentifiers($0).isEmpty }
    if isEmpty { return try Schema.migrator().migrate(database) }
    let upgrade = try StoreUpgrade(database, terms.withLockedValue { $0 })
    // Somebody else may have done it meanwhile.
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
    log?.notice("the database is brought up to date; \(copy) is a copy of it")
    do {
      tell(0)
      try writeCopy(at: copy)
      let migrator = Schema.migrator { done in self.tell(Self.copyShare + (1 - Self.copyShare) * done) }
      try migrator.migrate(database)
    } catch {
      unlink(copy)
      log?.error("the database could not be brought up to date, and is as it was: \(error)")
      throw failure(error)
    }
    unlink(path + AgentPaths.upgradeSuffix)
    log?.notice("the database is up to date after \(ContinuousClock.now - start)")
  }

  private func writeCopy(at copy: String) throws {
    let new = copy + ".new"
    do {
      // Nobody else may read it.
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

  /// A damaged database is a matter of its own.
  private func failure(_ error: any Error) -> any Error {
    if LocalStore.isDamage(error) { return error }
    // SQLite does not say what has kept it from writing a copy.
    let isUnsaid = (error as? DatabaseError)?.message == "not an error"
    let why =
      isUnsaid
      ? .about(path, FailureDetail.store(.cannotCopy)) : LocalStore.failure(error, path).detail ?? .text(path)
    return Failure(.databaseError, stage: .store, detail: .store(.upgradeFailed, why))
  }
}

extension LocalStore {
  /// An agent has used the database and ended well: what the database was before is not needed any more. An upgrade that was
  /// killed when it was done has left its file, too.
  func removeCopy() {
    for suffix in [StoreUpgrade.copySuffix, AgentPaths.upgradeSuffix] { unlink(path + suffix) }
  }
}
