import AgentProtocol
import AgentService
import Dispatch
import Glibc

/// Runs the agent's asynchronous work while the main thread waits.
enum Foreground {
  /// Runs the agent until a signal, `agent stop` or the time limit, or until no client or account needs it.
  ///
  /// - Parameters:
  ///   - timeout: The time limit in seconds; 0: none.
  ///   - tellsEnd: Whether to throw the failure that ended the last session, if that is why the agent is no longer
  ///     needed.
  static func agent(_ terms: AgentTerms, timeout: Double, tellsEnd: Bool) throws(Failure) {
    if timeout > 0 {
      DispatchQueue.global().asyncAfter(deadline: .now() + timeout) { kill(getpid(), SIGTERM) }
    }
    try run { () async throws(Failure) in try await AgentProcess(.current(), terms).run(tellsEnd: tellsEnd) }
  }

  /// Runs `body` while this thread waits for its end.
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

  /// The result, which is written before the semaphore is signalled and read afterwards.
  private final class Outcome: @unchecked Sendable {
    var failure: Failure?
  }
}
