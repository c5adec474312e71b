import AgentProtocol
import AgentSystem
import Logging
import NIOConcurrencyHelpers

/// The stored accounts during the life of the agent; finds the changes made by other processes.
///
/// Writes of the agent itself are not reported. If the file cannot be read, that is logged once and the previous
/// contents stay in effect.
package final class AccountsOnDisk: Sendable {
  /// The delay after a change, so that several writes in a row are read once.
  private static let settling: Duration = .milliseconds(100)
  /// The pause before a directory that was removed is created and watched again.
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

  /// The failure of the last attempt to read the accounts; nil where it succeeded.
  package var failure: Failure? { problem.withLockedValue { $0 } }

  /// The stored accounts. Where they cannot be read, the contents read last (see ``failure``).
  ///
  /// - Throws: the failure to read the accounts, if they were never read.
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

  /// Logs when the accounts become unreadable or readable.
  private func note(_ failure: Failure?) {
    let before = problem.withLockedValue { problem in
      defer { problem = failure }
      return problem
    }
    if before == failure { return }
    if let failure {
      log.error("the accounts cannot be read; the previous ones stay in effect: \(failure.message)")
    } else {
      log.info("the accounts can be read again")
    }
  }

  /// The changes in the file; empty where it cannot be read.
  package func news() async -> [KnownAccounts.Change] {
    do throws(Failure) {
      let known = known
      // A writer that is at work has recorded its change before it releases the lock.
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

  /// Calls `body` whenever the file may have changed, until the task is cancelled.
  package func watch(_ body: @Sendable () async -> Void) async {
    while !Task.isCancelled {
      do {
        try PrivateDirectory.ensure(store.directory)
        let changes = try DirectoryWatch.changes(of: AccountStore.fileName, in: store.directory)
        // Covers changes made before the watch began.
        await body()
        for await _ in changes {
          try await Task.sleep(for: Self.settling)
          await body()
        }
      } catch is CancellationError {
        return
      } catch {
        log.warning("\(store.path) cannot be watched for changes: \(error)")
      }
      try? await Task.sleep(for: Self.pause)
    }
  }
}
