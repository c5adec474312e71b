import AgentProtocol
import NIOPosix

/// A store on the disk, whose calls block.
package protocol BlockingStore: Sendable {}

extension BlockingStore {
  /// Runs `work` on a background thread. It is finished even if the task is cancelled.
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
