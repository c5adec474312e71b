import AgentProtocol
import NIOPosix

/// What keeps its contents on the disk: every call of it blocks.
package protocol BlockingStore: Sendable {}

extension BlockingStore {
  /// Runs `work` on a thread that may block. What was begun is finished, also where the task is cancelled.
  package func inBackground<Result: Sendable>(
    _ work: @escaping @Sendable (Self) throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    let outcome: Swift.Result<Result, Failure> = await withCheckedContinuation { waiter in
      NIOThreadPool.singleton.submit { _ in
        do throws(Failure) {
          waiter.resume(returning: .success(try work(self)))
        } catch {
          waiter.resume(returning: .failure(error))
        }
      }
    }
    return try outcome.get()
  }
}
