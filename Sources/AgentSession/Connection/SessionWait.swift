import AgentProtocol
import XMPPClient

// Waiting for a session that is coming online.

extension Session {
  /// Whether a session is online or will come online.
  var isReachable: Bool { online != nil || activePlan != nil }

  /// The bound stream, after waiting for a session that is coming online.
  func boundSession(until end: ContinuousClock.Instant) async throws(Failure) -> BoundSession {
    if online == nil { try await waitUntilOnline(until: end) }
    guard let stream = online?.stream else { throw Failure(.notLoggedIn, stage: .request) }
    return stream
  }

  /// Returns when there is a bound stream. Throws if none is expected, or if it does not come in time.
  func waitUntilOnline(until end: ContinuousClock.Instant) async throws(Failure) {
    let (changes, observer) = published.observe()
    defer { observer.finish() }
    let isToBeOnline = await isToBeOnline()
    guard online == nil else { return }
    guard isToBeOnline, self.end == nil, idle != .disconnect, !reconnection.isEnding else {
      throw Failure(.notLoggedIn, stage: .request)
    }
    let limit = Task {
      try await Task.sleep(until: end)
      observer.finish()
    }
    defer { limit.cancel() }
    for await _ in changes {
      if online != nil { return }
      if self.end != nil || (published.status.state == .offline && !isBusy) { break }
    }
    if let failure = self.end?.failure ?? lastFailure { throw failure }
    throw Failure(.notLoggedIn, stage: .request)
  }
}
