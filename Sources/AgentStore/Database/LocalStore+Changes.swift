import AgentProtocol
import GRDB
import NIOConcurrencyHelpers
import NIOPosix

// Changes by several sessions and clients share transactions: changes requested during a write are committed together
// after it.

/// The changes that wait for a transaction.
final class ChangeQueue: Sendable {
  /// A change and its completion handlers.
  struct Change: Sendable {
    /// Whether the change must survive a power failure, not only the end of this process, before it counts as done.
    var isDurable: Bool
    /// Makes the change. May be called more than once, where the last call counts: in a repaired database, or in a
    /// transaction of its own.
    var perform: @Sendable (Database) throws -> Void
    /// Called with the error that `perform` has thrown, which becomes the result.
    var fail: @Sendable (any Error) -> Void
    /// Called after the commit with nil, or with the error of the transaction.
    var finish: @Sendable ((any Error)?) -> Void
  }

  private struct State {
    var waiting: [Change] = []
    var isRunning = false
    var isTidyingPlanned = false
  }

  /// The maximum number of changes in a transaction, so that readers see the database in between.
  private static let batch = 1000
  private let state = NIOLockedValueBox(State())

  /// Adds a change; returns whether the caller has to start the writer.
  func add(_ change: Change) -> Bool {
    state.withLockedValue { state in
      state.waiting.append(change)
      defer { state.isRunning = true }
      return !state.isRunning
    }
  }

  /// The next changes to write; nil when none wait, which ends the writer.
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
  /// Plans to empty the log after these changes; returns false if that is planned already.
  func planTidying() -> Bool {
    state.withLockedValue { state in
      defer { state.isTidyingPlanned = true }
      return !state.isTidyingPlanned
    }
  }

  /// Called when emptying begins; later changes need another plan.
  func beginTidying() { state.withLockedValue { $0.isTidyingPlanned = false } }
}

extension LocalStore {
  /// Changes the database in the order of the calls; returns after the commit.
  ///
  /// A change that throws is rolled back without an effect on others in its transaction.
  ///
  /// - Parameter durably: whether the change must survive a power failure before this returns.
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

  /// Makes earlier changes survive a power failure.
  package func flush() async throws(Failure) {
    try await change(durably: true) { database in
      try database.execute(
        sql:
          "INSERT INTO meta (key, value) VALUES ('flushes', 1) ON CONFLICT (key) DO UPDATE SET value = value + 1"
      )
    }
  }

  /// Reads on a background thread.
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
    // The database is damaged; it is repaired in its turn among the changes.
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

  /// Repeats the changes with a savepoint for each after one of them has thrown. Savepoints in general would cost more
  /// than most changes, and few throw. Returns the error that keeps the database from being written, if one occurred.
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
