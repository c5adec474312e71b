import Agent
import AgentProtocol
import AgentSystem
import Dispatch
import Glibc

/// Where this process is the agent itself: the only way from a command into the rooms below.
enum Foreground {
  /// `agent run`: until a signal, `agent stop`, the deadline, or nobody needs it.
  ///
  /// - Parameter tellsEnd: ends with what the last session ended with, where that is why nobody needs the agent.
  static func agent(_ terms: AgentTerms, until deadline: Deadline, tellsEnd: Bool) throws {
    if let secondsLeft = deadline.secondsLeft {
      DispatchQueue.global().asyncAfter(deadline: .now() + secondsLeft) { kill(getpid(), SIGTERM) }
    }
    try run { () async throws(Failure) in try await AgentProcess(.current(), terms).run(tellsEnd: tellsEnd) }
  }

  /// `login --foreground`: until the session has ended for good or a signal comes.
  static func login(
    _ parameters: LoginMethod.Parameters, onEvent: @escaping @Sendable (Event) -> Void
  ) throws {
    var terms = AgentTerms()
    terms.notify = NotifySocket.take()
    try run { [terms] () async throws(Failure) in
      try await AgentProcess(.current(), terms).run(login: parameters, onEvent: onEvent)
    }
  }

  /// Runs `body` to its end while this thread, which is not needed any more, waits.
  private static func run(_ body: @escaping @Sendable () async throws(Failure) -> Void) throws {
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
