import TestSupport

@testable import XMPP

extension Result {
  var failure: Failure? {
    guard case .failure(let error) = self else { return nil }
    return error
  }
}

extension XMPPStream {
  var isWaiting: Bool { !requests.isEmpty }
  func isWaiting(for id: String) -> Bool { requests.isWaiting(for: id) }

  /// The first event that `pick` takes.
  func first<T: Sendable>(_ pick: @Sendable (StreamEvent) -> T?) async -> T? {
    while let event = await next() { if let found = pick(event) { return found } }
    return nil
  }

  /// Waits until no more events are stored.
  func untilFull() async throws {
    let deadline = ContinuousClock.now + .seconds(50)
    while !inbox.isFull {
      guard ContinuousClock.now < deadline else { throw TestSupportError("the stream does not read on") }
      try await Task.sleep(for: .milliseconds(5))
    }
  }

  /// Waits until the stream has stopped reading.
  func untilPaused() async throws {
    let deadline = ContinuousClock.now + .seconds(50)
    while let channel, try await channel.getOption(.autoRead).get() {
      guard ContinuousClock.now < deadline else { throw TestSupportError("the stream reads on and on") }
      try await Task.sleep(for: .milliseconds(5))
    }
  }
}
