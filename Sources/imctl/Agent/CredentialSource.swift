import Agent
import AgentProtocol
import Glibc
import Synchronization

/// `--password-command`, run by the command itself: a wrong one is told before anything else happens.
enum CredentialSource {
  static func run(_ line: String) throws -> String {
    let command = try CredentialCommand(line)
    return try wait { () async throws(Failure) in try await command.secret() }.value
  }

  /// Waits for asynchronous work; SIGINT cancels it.
  private static func wait<Value: Sendable>(
    for work: @escaping @Sendable () async throws(Failure) -> Value
  ) throws -> Value {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else {
      throw Failure(.internalError, stage: .input, detail: systemError())
    }
    let (readEnd, writeEnd) = (ends[0], ends[1])
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    defer { close(readEnd) }
    let outcome = Outcome<Value>()
    let task = Task {
      do throws(Failure) {
        outcome.set(.success(try await work()))
      } catch {
        outcome.set(.failure(error))
      }
      close(writeEnd)
    }
    var interrupted = false
    while true {
      var waits = [
        pollfd(fd: readEnd, events: Int16(POLLIN), revents: 0),
        pollfd(fd: interrupted ? -1 : Interrupt.descriptor, events: Int16(POLLIN), revents: 0),
      ]
      if poll(&waits, 2, -1) < 0 { continue }
      if waits[0].revents != 0 { break }
      if waits[1].revents != 0 {
        interrupted = true
        task.cancel()
      }
    }
    if interrupted { throw Failure.cancelled() }
    return try outcome.get()
  }

  private final class Outcome<Value: Sendable>: Sendable {
    private let value = Mutex<Result<Value, Failure>?>(nil)

    func set(_ result: Result<Value, Failure>) { value.withLock { $0 = result } }

    func get() throws -> Value {
      guard let result = value.withLock({ $0 }) else { throw Failure.cancelled() }
      return try result.get()
    }
  }
}
