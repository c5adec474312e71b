import AgentProtocol
import Glibc
import Synchronization

extension Foreground {
  /// Waits for asynchronous work; SIGINT and the deadline cancel it.
  ///
  /// - Parameter done: what may have happened where SIGINT has cancelled it; nil: nothing.
  static func wait<Value: Sendable>(
    until deadline: Deadline, else late: Failure, cancelled done: String? = nil,
    for work: @escaping @Sendable () async throws(Failure) -> Value
  ) throws -> Value {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else {
      throw Failure(.internalError, stage: .input, detail: systemError())
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
      reason = ready == 0 ? late : .cancelled(done)
      task.cancel()
    }
    if let reason { throw reason }
    return try outcome.get()
  }

  /// The server was asked for a change.
  static var mayBeDone: String {
    inLanguage("the server may have done what it was asked for", "服务器可能已执行所请求的操作")
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
