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
  nonisolated func untilFull() async throws {
    try await eventually("a full inbox") { await inbox.isFull }
  }

  /// Waits until the stream has stopped reading.
  nonisolated func untilPaused() async throws {
    try await eventually("the end of reading") {
      guard let channel = await channel else { return true }
      return try await !channel.getOption(.autoRead).get()
    }
  }

  /// Waits until the server has agreed to acknowledge.
  nonisolated func managed() async throws {
    try await eventually("the server's consent to acknowledge") {
      guard await isOpen else { throw TestSupportError("the stream ended") }
      return await management?.isEnabled == true
    }
  }
}
