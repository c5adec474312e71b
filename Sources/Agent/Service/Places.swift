import AgentProtocol
import NIOConcurrencyHelpers

/// How many of the agent's clients may have something done for them at a time.
///
/// A client has a place while one of its requests is worked on, and as long as what it has asked for lasts: events that
/// are told, a presence that is held. Who has handed messages over and waits for what becomes of them has none, nor has
/// who says nothing. Messages wait for a place in the order in which they came; anything else is refused where there is
/// none. What keeps the agent in hand needs none.
final class Places: Sendable {
  private struct State {
    var taken: Set<ClientHandle> = []
    /// Those who wait, oldest first.
    var waiting: [(client: ClientHandle, continuation: CheckedContinuation<Bool, Never>)] = []
  }

  let maximum: Int
  private let state = NIOLockedValueBox(State())

  init(maximum: Int) { self.maximum = maximum }

  /// Clients that wait for one.
  var waiting: Int { state.withLockedValue { $0.waiting.count } }

  /// Gives the client a place, unless it has one.
  func acquire(_ client: ClientHandle) throws(Failure) {
    if !enter(client) { throw Failure.tooManyClients(maximum) }
  }

  /// The same for one that waits for its turn; ends with the task.
  ///
  /// - Parameter seconds: for how long, 0 for no bound.
  /// - Returns: what is left of the time, 0 for no bound.
  func acquireInTurn(_ client: ClientHandle, within seconds: Double) async throws(Failure) -> Double {
    let start = ContinuousClock.now
    try await waitForPlace(client, within: seconds)
    if seconds == 0 { return 0 }
    return max(0.001, seconds - start.duration(to: .now) / .seconds(1))
  }

  private func waitForPlace(_ client: ClientHandle, within seconds: Double) async throws(Failure) {
    if enter(client) { return }
    let limit = Task {
      guard seconds > 0 else { return }
      try await Task.sleep(for: .seconds(seconds))
      giveUp(client)
    }
    defer { limit.cancel() }
    let hasPlace = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isDone: Bool? = state.withLockedValue { state in
          if Task.isCancelled { return false }
          if enter(client, &state) { return true }
          state.waiting.append((client, continuation))
          return nil
        }
        if let isDone { continuation.resume(returning: isDone) }
      }
    } onCancel: {
      giveUp(client)
    }
    if !hasPlace { throw Failure.tooManyClients(maximum) }
  }

  /// The client needs its place no more: who waits longest gets it.
  func leave(_ client: ClientHandle) {
    let next = state.withLockedValue { state -> CheckedContinuation<Bool, Never>? in
      guard state.taken.remove(client) != nil, !state.waiting.isEmpty else { return nil }
      let next = state.waiting.removeFirst()
      state.taken.insert(next.client)
      return next.continuation
    }
    next?.resume(returning: true)
  }

  private func enter(_ client: ClientHandle) -> Bool { state.withLockedValue { enter(client, &$0) } }

  private func enter(_ client: ClientHandle, _ state: inout State) -> Bool {
    if state.taken.contains(client) { return true }
    guard state.taken.count < maximum, state.waiting.isEmpty else { return false }
    state.taken.insert(client)
    return true
  }

  private func giveUp(_ client: ClientHandle) {
    let waiter = state.withLockedValue { state in
      state.waiting.firstIndex { $0.client == client }.map { state.waiting.remove(at: $0).continuation }
    }
    waiter?.resume(returning: false)
  }
}
