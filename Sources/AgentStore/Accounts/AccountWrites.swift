import AgentProtocol
import NIOConcurrencyHelpers
import NIOPosix

/// Changes of `accounts.json` that wait to be written together.
///
/// The file is replaced as a whole, so that a thousand logins at once would write it a thousand times. While one
/// replacement runs the changes behind it gather, and the next one carries them all. Each caller goes on when what it
/// has changed is on the disk, as if it had written alone.
final class AccountWrites: Sendable {
  typealias Change = @Sendable (inout AccountFile) -> Void

  private struct State {
    var waiting: [(change: Change, done: CheckedContinuation<Result<Void, Failure>, Never>)] = []
    var isWriting = false
  }

  private let state = NIOLockedValueBox(State())

  /// Makes the change in its turn. Throws the errors of ``AccountStore/update(_:)``.
  func make(_ change: @escaping Change, in store: AccountStore) async throws(Failure) {
    let result: Result<Void, Failure> = await withCheckedContinuation { done in
      let isFirst = state.withLockedValue { state in
        state.waiting.append((change, done))
        defer { state.isWriting = true }
        return !state.isWriting
      }
      if isFirst { NIOThreadPool.singleton.submit { _ in self.write(to: store) } }
    }
    try result.get()
  }

  /// Writes until no change waits.
  private func write(to store: AccountStore) {
    while true {
      let changes = state.withLockedValue { state in
        defer { state.waiting = [] }
        state.isWriting = !state.waiting.isEmpty
        return state.waiting
      }
      if changes.isEmpty { return }
      let result: Result<Void, Failure>
      do throws(Failure) {
        try store.update { file throws(Failure) in for one in changes { one.change(&file) } }
        result = .success(())
      } catch {
        result = .failure(error)
      }
      for one in changes { one.done.resume(returning: result) }
    }
  }
}

extension AccountStore {
  /// Like ``update(_:)``, but on a background thread and combined with concurrent changes.
  ///
  /// A change that was begun is finished even if the task is cancelled.
  package func updateInBackground<Value: Sendable>(
    _ change: @escaping @Sendable (inout AccountFile) -> Value
  ) async throws(Failure) -> Value {
    let value = NIOLockedValueBox<Value?>(nil)
    try await writes.make(
      { file in
        let result = change(&file)
        value.withLockedValue { $0 = result }
      }, in: self)
    guard let value = value.withLockedValue({ $0 }) else { throw Failure(.internalError, stage: .store) }
    return value
  }
}
