import AgentProtocol
import AgentService
import Dispatch
import Glibc

/// Where the main thread waits for the agent's work.
enum Foreground {
  /// Until a signal, `agent stop`, the time is up, or nobody needs the agent.
  ///
  /// - Parameters:
  ///   - timeout: seconds, 0 for no bound.
  ///   - tellsEnd: throws what the last session ended with, where that is why nobody needs the agent.
  static func agent(_ terms: AgentTerms, timeout: Double, tellsEnd: Bool) throws(Failure) {
    if timeout > 0 {
      DispatchQueue.global().asyncAfter(deadline: .now() + timeout) { kill(getpid(), SIGTERM) }
    }
    try run { () async throws(Failure) in try await AgentProcess(.current(), terms).run(tellsEnd: tellsEnd) }
  }

  /// Runs `body` to its end while this thread, which is not needed any more, waits.
  static func run(_ body: @escaping @Sendable () async throws(Failure) -> Void) throws(Failure) {
    let outcome = Outcome()
    let ended = DispatchSemaphore(value: 0)
    Task {
      do throws(Failure) { try await body() } catch { outcome.failure = error }
      ended.signal()
    }
    ended.wait()
    if let failure = outcome.failure { throw failure }
  }

  /// Written before the semaphore is signalled, read after.
  private final class Outcome: @unchecked Sendable {
    var failure: Failure?
  }
}
