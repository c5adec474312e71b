import AgentProtocol
import AgentSystem
import Logging
import NIOConcurrencyHelpers

/// The stored accounts while the agent runs: says what somebody else has changed in them.
///
/// Writes of the agent itself are no news. What cannot be read is told once in the log, and what was before holds.
package final class AccountsOnDisk: Sendable {
  /// Several writes in a row are looked at once.
  private static let settling: Duration = .milliseconds(100)
  /// Before a directory that has gone is made and watched again.
  private static let pause: Duration = .seconds(5)

  package let store: AccountStore
  private let known: KnownAccounts
  private let log: Logger
  private let problem = NIOLockedValueBox<Failure?>(nil)

  package init(directory: String, log: Logger) {
    let known = KnownAccounts()
    var store = AccountStore(directory: directory) { log.warning("\($0.localized(.english))") }
    store.onWrite = known.wrote
    self.store = store
    self.known = known
    self.log = log
  }

  /// Why the accounts cannot be read now.
  package var failure: Failure? { problem.withLockedValue { $0 } }

  /// The stored accounts; where they cannot be read, as they were before (see ``failure``).
  ///
  /// - Throws: why they cannot be read, where they never could.
  package func load() async throws(Failure) -> AccountFile {
    do throws(Failure) {
      let file = try await store.inBackground { store throws(Failure) in try store.load() }
      note(nil)
      return file
    } catch {
      note(error)
      guard let last = store.lastKnown else { throw error }
      return last
    }
  }

  /// Tells in the log what is new of whether the accounts can be read.
  private func note(_ failure: Failure?) {
    let before = problem.withLockedValue { problem in
      defer { problem = failure }
      return problem
    }
    if before == failure { return }
    if let failure {
      log.error("the accounts cannot be read, the last ones hold: \(failure.message)")
    } else {
      log.info("the accounts can be read again")
    }
  }

  /// What is new in the file. Nothing where it cannot be read.
  package func news() async -> [KnownAccounts.Change] {
    do throws(Failure) {
      let known = known
      // A writer that is at work has told of it when the lock is free again.
      let news = try await store.inBackground { store throws(Failure) in
        try store.inspect(known.news)
      }
      note(nil)
      return news
    } catch {
      note(error)
      return []
    }
  }

  /// Calls `body` when the file may have changed, until the task is cancelled.
  package func watch(_ body: @Sendable () async -> Void) async {
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
