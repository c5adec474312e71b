import Glibc
import NIOConcurrencyHelpers

/// What a child process has written so far, and a way to wait for more of it.
///
/// Whoever looks sees everything that was written before: it is read then, and not only when a thread gets round to it.
public final class Transcript: Sendable {
  private struct State {
    var bytes: [UInt8] = []
    var isFinished = false
    var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
    var nextWaiter = 0
  }
  private let descriptor: Int32
  private let state = NIOLockedValueBox(State())

  /// Reads a pipe to its end, and closes it.
  init(reading descriptor: Int32) {
    self.descriptor = descriptor
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    var thread = pthread_t()
    pthread_create(
      &thread, nil,
      { Unmanaged<Transcript>.fromOpaque($0!).takeRetainedValue().readToEnd() },
      Unmanaged.passRetained(self).toOpaque())
    pthread_detach(thread)
  }

  /// A pipe: what is written into the descriptor is what there is.
  static func pipe() throws -> (transcript: Transcript, writer: Int32) {
    var ends: [Int32] = [0, 0]
    guard Glibc.pipe(&ends) == 0 else { throw TestSupportError("no pipe: \(errno)") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (Transcript(reading: ends[0]), ends[1])
  }

  /// Everything written so far; bytes that are not UTF-8 are shown as U+FFFD.
  public var text: String {
    read()
    return state.withLockedValue { String(decoding: $0.bytes, as: UTF8.self) }
  }

  /// Everything written so far, line by line, without a last line that has no end yet.
  public var lines: [String] {
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    lines.removeLast()
    return lines
  }

  /// True when no more will come.
  public var isFinished: Bool {
    read()
    return state.withLockedValue { $0.isFinished }
  }

  /// Returns when no more will come.
  func finished() async {
    while !isFinished { await change(since: .max, until: .now + .seconds(3600)) }
  }

  /// Waits until `match` finds what it looks for in all that was written, and returns that.
  ///
  /// - Throws: `TestSupportError` when the limit is over or the writer has finished without a match. The
  ///   limit only keeps a broken test from hanging.
  public func first<T: Sendable>(
    _ wanted: String, within limit: Duration = .seconds(90), where match: @Sendable (Transcript) throws -> T?
  ) async throws -> T {
    let deadline = ContinuousClock.now + limit
    while true {
      let (seen, finished) = state.withLockedValue { ($0.bytes.count, $0.isFinished) }
      if let found = try match(self) { return found }
      if finished { throw TestSupportError("\(wanted) never came; all there was:\n\(text)") }
      if ContinuousClock.now >= deadline {
        throw TestSupportError("\(wanted) did not come within \(limit); all there was:\n\(text)")
      }
      await change(since: seen, until: deadline)
    }
  }

  /// Waits until `string` has been written.
  public func contains(_ string: String, within limit: Duration = .seconds(90)) async throws {
    _ = try await first("“\(string)”", within: limit) { $0.text.contains(string) ? true : nil }
  }

  /// Nobody may look for long, and the child must not wait for that.
  private func readToEnd() -> UnsafeMutableRawPointer? {
    var event = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    while !isFinished { poll(&event, 1, -1) }
    close(descriptor)
    return nil
  }

  /// Takes what is there.
  private func read() {
    let waiting = state.withLockedValue { state -> [CheckedContinuation<Void, Never>] in
      guard !state.isFinished else { return [] }
      let before = state.bytes.count
      var chunk = [UInt8](repeating: 0, count: 1 << 16)
      var count = Glibc.read(descriptor, &chunk, chunk.count)
      while count > 0 {
        state.bytes += chunk[..<count]
        count = Glibc.read(descriptor, &chunk, chunk.count)
      }
      if count == 0 || ![EAGAIN, EINTR].contains(errno) {
        state.isFinished = true
      }
      guard state.bytes.count > before || state.isFinished else { return [] }
      defer { state.waiting = [:] }
      return Array(state.waiting.values)
    }
    for waiter in waiting { waiter.resume() }
  }

  private func change(since seen: Int, until deadline: ContinuousClock.Instant) async {
    let waiter = state.withLockedValue { state in
      state.nextWaiter += 1
      return state.nextWaiter
    }
    let alarm = Task {
      try? await Task.sleep(until: deadline, clock: .continuous)
      self.state.withLockedValue { $0.waiting.removeValue(forKey: waiter) }?.resume()
    }
    await withCheckedContinuation { continuation in
      let passed = state.withLockedValue { state in
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
