import AgentProtocol
import Logging
import Synchronization

/// The stored accounts while the agent runs: says what somebody else has changed in them.
///
/// Writes of the agent itself are no news. What cannot be read is told once in the log, and what was before holds.
final class AccountsOnDisk: Sendable {
  /// Several writes in a row are looked at once.
  private static let settling: Duration = .milliseconds(100)
  /// Before a directory that has gone is made and watched again.
  private static let pause: Duration = .seconds(5)

  let store: AccountStore
  private let known: KnownAccounts
  private let log: Logger
  private let problem = Mutex<Failure?>(nil)

  init(directory: String, log: Logger) {
    let known = KnownAccounts()
    var store = AccountStore(directory: directory) { log.warning("\($0.localized(.english))") }
    store.onWrite = known.wrote
    self.store = store
    self.known = known
    self.log = log
  }

  /// Why the accounts cannot be read now.
  var failure: Failure? { problem.withLock { $0 } }

  /// What is new in the file. Nothing where it cannot be read.
  func news() async -> [KnownAccounts.Change] {
    do throws(Failure) {
      let known = known
      // A writer that is at work has told of it when the lock is free again.
      let news = try await store.inBackground { store throws(Failure) in
        try store.update { file throws(Failure) in known.news(in: file) }
      }
      if problem.withLock({ problem in
        defer { problem = nil }
        return problem != nil
      }) {
        log.info("the accounts can be read again")
      }
      return news
    } catch {
      let isNew = problem.withLock { problem in
        defer { problem = error }
        return problem != error
      }
      if isNew { log.error("the accounts cannot be read, the last ones hold: \(error.message)") }
      return []
    }
  }

  /// Calls `body` when the file may have changed, until the task is cancelled.
  func watch(_ body: @Sendable () async -> Void) async {
    while !Task.isCancelled {
      do {
        try PrivateDirectory.ensure(store.directory)
        let changes = try DirectoryWatch.changes(of: AccountStore.fileName, in: store.directory)
        // What has happened before somebody watched.
        await body()
        for await _ in changes {
          try await Task.sleep(for: Self.settling)
          await body()
        }
      } catch is CancellationError {
        return
      } catch {
        log.warning("changes of \(store.path) are not noticed: \(error)")
      }
      try? await Task.sleep(for: Self.pause)
    }
  }
}
