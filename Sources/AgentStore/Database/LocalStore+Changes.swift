import AgentProtocol
import GRDB
import NIOConcurrencyHelpers
import NIOPosix

// Changes of many sessions and clients share transactions: what is asked for while one is being written to the disk
// is written together after it.

/// Changes that wait for their transaction.
final class ChangeQueue: Sendable {
  /// A change, and who waits for it.
  struct Change: Sendable {
    /// Survives a power failure when it is done, and not only the end of this process.
    var isDurable: Bool
    /// May be performed more than once, the last time counts: in a database that is not damaged, or alone.
    var perform: @Sendable (Database) throws -> Void
    /// What it has thrown is what becomes of it.
    var fail: @Sendable (any Error) -> Void
    /// nil: committed, if the change itself has not failed.
    var finish: @Sendable ((any Error)?) -> Void
  }

  private struct State {
    var waiting: [Change] = []
    var isRunning = false
    var isTidyingPlanned = false
  }

  /// Changes of one transaction: others are to see the database in between.
  private static let batch = 1000
  private let state = NIOLockedValueBox(State())

  /// Whether somebody has to take up the work.
  func add(_ change: Change) -> Bool {
    state.withLockedValue { state in
      state.waiting.append(change)
      defer { state.isRunning = true }
      return !state.isRunning
    }
  }

  /// What is to be done next; nil when nothing waits, and the work ends.
  func dequeueBatch() -> [Change]? {
    state.withLockedValue { state in
      let next = Array(state.waiting.prefix(Self.batch))
      state.waiting.removeFirst(next.count)
      state.isRunning = !next.isEmpty
      return next.isEmpty ? nil : next
    }
  }
}

extension ChangeQueue {
  /// Whether nobody else is to empty the log after these changes.
  func planTidying() -> Bool {
    state.withLockedValue { state in
      defer { state.isTidyingPlanned = true }
      return !state.isTidyingPlanned
    }
  }

  /// What changes from now on is for the next time.
  func beginTidying() { state.withLockedValue { $0.isTidyingPlanned = false } }
}

extension LocalStore {
  /// Changes the database, in the order of the calls; returns when that is committed.
  ///
  /// A change that throws leaves nothing behind, and does not disturb the others of its transaction.
  ///
  /// - Parameter durably: it is to survive a power failure too.
  package func change<Value: Sendable>(
    durably: Bool = false, _ body: @escaping @Sendable (Database) throws -> Value
  ) async throws(Failure) -> Value {
    let outcome: Result<Value, Failure> = await withCheckedContinuation { waiter in
      let value = NIOLockedValueBox<Result<Value, any Error>?>(nil)
      enqueue(
        ChangeQueue.Change(isDurable: durably) { database in
          let done = try body(database)
          value.withLockedValue { $0 = .success(done) }
        } fail: { error in
          value.withLockedValue { $0 = .failure(error) }
        } finish: { [path] error in
          let result = value.withLockedValue { $0 }
          waiter.resume(
            returning: (error.map { .failure($0) } ?? result
              ?? .failure(DatabaseError(resultCode: .SQLITE_ABORT)))
              .mapError { Self.failure($0, path) })
        })
    }
    return try outcome.get()
  }

  /// Makes what was changed before this call survive a power failure too.
  package func flush() async throws(Failure) {
    try await change(durably: true) { database in
      try database.execute(
        sql:
          "INSERT INTO meta (key, value) VALUES ('flushes', 1) ON CONFLICT (key) DO UPDATE SET value = value + 1"
      )
    }
  }

  /// Reads, on a thread that may block.
  package func read<Value: Sendable>(
    _ body: @escaping @Sendable (Database) throws -> Value
  ) async throws(Failure) -> Value {
    let value = try await inBackground { store throws(Failure) -> Value? in
      do { return try store.database.read(body) } catch {
        if Self.isDamage(error) { return nil }
        throw Self.failure(error, store.path)
      }
    }
    if let value { return value }
    // It is damaged, and is repaired in its turn among the changes.
    return try await change(body)
  }

  private func enqueue(_ change: ChangeQueue.Change) {
    guard changes.add(change) else { return }
    NIOThreadPool.singleton.submit { _ in
      while let changes = self.changes.dequeueBatch() { self.commit(changes) }
      self.tidyLater()
    }
  }

  private func commit(_ changes: [ChangeQueue.Change]) {
    var failure: (any Error)?
    do {
      try restoreFile()
      let database = database
      do {
        try perform(changes)
      } catch  where repair(database, after: error) {
        try perform(changes)
      }
    } catch {
      failure = error
      noteWrite(error)
    }
    for change in changes { change.finish(failure) }
  }

  private func perform(_ changes: [ChangeQueue.Change]) throws {
    var obstacle: (any Error)?
    let hasWritten = try database.writeWithoutTransaction { database in
      try database.execute(
        sql: "PRAGMA synchronous = \(changes.contains(where: \.isDurable) ? "FULL" : "NORMAL")")
      let before = database.totalChangesCount
      do {
        try database.inTransaction(.immediate) {
          for change in changes { try change.perform(database) }
          return .commit
        }
      } catch  where !Self.isDamage(error) {
        obstacle = try performApart(changes, database)
      }
      return database.totalChangesCount != before
    }
    if obstacle != nil || hasWritten { noteWrite(obstacle) }
  }

  /// One of them has thrown: each leaves all behind that it does, or nothing. To provide for that costs more than most
  /// changes do, and few throw. Gives what keeps the database from being written, where one has met that.
  private func performApart(_ changes: [ChangeQueue.Change], _ database: Database) throws -> (any Error)? {
    var obstacle: (any Error)?
    try database.inTransaction(.immediate) {
      for change in changes {
        do {
          try database.inSavepoint {
            try change.perform(database)
            return .commit
          }
        } catch  where !Self.isDamage(error) {
          change.fail(error)
          if StoreCondition.isObstacle(error) { obstacle = error }
        }
      }
      return .commit
    }
    return obstacle
  }
}
