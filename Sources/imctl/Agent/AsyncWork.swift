import AgentProtocol
import Glibc
import Synchronization

/// Asynchronous work that a command waits for.
enum AsyncWork {
  /// Waits for the work; SIGINT and the deadline cancel it.
  static func wait<Value: Sendable>(
    until deadline: Deadline, else timeoutFailure: Failure,
    for work: @escaping @Sendable () async throws(Failure) -> Value
  ) throws -> Value {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else {
      throw Failure(.internalError, stage: .input, detail: .text(systemError()))
    }
    let (readEnd, writeEnd) = (ends[0], ends[1])
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    defer { close(readEnd) }
    let outcome = Answer<Value>()
    let task = Task {
      do throws(Failure) {
        outcome.set(.success(try await work()))
      } catch {
        outcome.set(.failure(error))
      }
      close(writeEnd)
    }
    var reason: Failure?
    while true {
      var waits = [
        pollfd(fd: readEnd, events: Int16(POLLIN), revents: 0),
        pollfd(fd: reason == nil ? Interrupt.descriptor : -1, events: Int16(POLLIN), revents: 0),
      ]
      let ready = poll(&waits, 2, reason == nil ? deadline.pollTimeout : -1)
      if ready < 0 { continue }
      if waits[0].revents != 0 { break }
      reason = ready == 0 ? timeoutFailure : .cancelled()
      task.cancel()
    }
    if let reason { throw reason }
    return try outcome.get()
  }

  private final class Answer<Value: Sendable>: Sendable {
    private let value = Mutex<Result<Value, Failure>?>(nil)

    func set(_ result: Result<Value, Failure>) { value.withLock { $0 = result } }

    func get() throws -> Value {
      guard let result = value.withLock({ $0 }) else { throw Failure.cancelled() }
      return try result.get()
    }
  }
}
