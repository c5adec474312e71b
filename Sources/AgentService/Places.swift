import AgentProtocol
import NIOConcurrencyHelpers

/// Limits the number of clients whose requests the agent carries out at a time.
///
/// A client has a place while one of its requests runs, and while its events or its held presence last. An idle client
/// has none, and neither has one that waits for the outcome of its messages. Message requests wait for a place in the
/// order of their arrival; other requests are refused when there is none. Methods that control the agent need no place.
final class Places: Sendable {
  private struct State {
    var taken: Set<ClientHandle> = []
    /// The waiting clients, oldest first.
    var waiting: [(client: ClientHandle, continuation: CheckedContinuation<Bool, Never>)] = []
  }

  let maximum: Int
  private let state = NIOLockedValueBox(State())

  init(maximum: Int) { self.maximum = maximum }

  /// The number of waiting clients.
  var waiting: Int { state.withLockedValue { $0.waiting.count } }

  /// Gives the client a place unless it has one; throws when there is none.
  func acquire(_ client: ClientHandle) throws(Failure) {
    if !enter(client) { throw Failure.tooManyClients(maximum) }
  }

  /// Waits for a place; ends when the task is cancelled.
  ///
  /// - Parameter seconds: the maximum wait; 0 for no limit.
  /// - Returns: the remaining time; 0 for no limit.
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

  /// Frees the client's place for the client that has waited longest.
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
