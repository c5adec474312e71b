import Synchronization

/// What a child process has written so far, and a way to wait for more of it.
public final class Transcript: Sendable {
  private struct State {
    var bytes: [UInt8] = []
    var isFinished = false
    var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
    var nextWaiter = 0
  }
  private let state = Mutex(State())

  public init() {}

  /// Everything written so far; bytes that are not UTF-8 are shown as U+FFFD.
  public var text: String { state.withLock { String(decoding: $0.bytes, as: UTF8.self) } }

  /// Everything written so far, line by line, without a last line that has no end yet.
  public var lines: [String] {
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    lines.removeLast()
    return lines
  }

  /// True when no more will come.
  public var isFinished: Bool { state.withLock { $0.isFinished } }

  /// Waits until `match` finds what it looks for in all that was written, and returns that.
  ///
  /// - Throws: `TestSupportError` when the limit is over or the writer has finished without a match. The
  ///   limit only keeps a broken test from hanging.
  public func first<T: Sendable>(
    _ wanted: String, within limit: Duration = .seconds(30), where match: @Sendable (Transcript) throws -> T?
  ) async throws -> T {
    let deadline = ContinuousClock.now + limit
    while true {
      let (seen, finished) = state.withLock { ($0.bytes.count, $0.isFinished) }
      if let found = try match(self) { return found }
      if finished { throw TestSupportError("\(wanted) never came; all there was:\n\(text)") }
      if ContinuousClock.now >= deadline {
        throw TestSupportError("\(wanted) did not come within \(limit); all there was:\n\(text)")
      }
      await change(since: seen, until: deadline)
    }
  }

  /// Waits until `string` has been written.
  public func contains(_ string: String, within limit: Duration = .seconds(30)) async throws {
    _ = try await first("“\(string)”", within: limit) { $0.text.contains(string) ? true : nil }
  }

  func append(_ bytes: [UInt8]) { wake { $0.bytes += bytes } }

  func finish() { wake { $0.isFinished = true } }

  private func wake(_ change: (inout State) -> Void) {
    let waiting = state.withLock { state in
      change(&state)
      defer { state.waiting = [:] }
      return state.waiting.values
    }
    for waiter in waiting { waiter.resume() }
  }

  private func change(since seen: Int, until deadline: ContinuousClock.Instant) async {
    let waiter = state.withLock { state in
      state.nextWaiter += 1
      return state.nextWaiter
    }
    let alarm = Task {
      try? await Task.sleep(until: deadline, clock: .continuous)
      self.state.withLock { $0.waiting.removeValue(forKey: waiter) }?.resume()
    }
    await withCheckedContinuation { continuation in
      let passed = state.withLock { state in
        if state.bytes.count > seen || state.isFinished || ContinuousClock.now >= deadline { return true }
        state.waiting[waiter] = continuation
        return false
      }
      if passed { continuation.resume() }
    }
    alarm.cancel()
  }
}

/// Something the tests need did not work: the test environment is at fault, or what is tested.
public struct TestSupportError: Error, CustomStringConvertible {
  public let description: String

  public init(_ description: String) { self.description = description }
}
