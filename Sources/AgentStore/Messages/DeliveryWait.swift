import AgentProtocol
import NIOConcurrencyHelpers

/// Waits until all of some messages have reached a stage, or until the time is up.
package final class DeliveryWait: Sendable {
  private struct State {
    var open: Set<String>
    var failures: [String: Failure] = [:]
    var isOver = false
    var waiter: CheckedContinuation<Void, Never>?
  }
  private let state: NIOLockedValueBox<State>

  package init(_ ids: some Sequence<String>) { state = NIOLockedValueBox(State(open: Set(ids))) }

  /// The failures of messages that will not reach the stage, by ID.
  package var failures: [String: Failure] { state.withLockedValue { $0.failures } }

  /// The IDs of the messages that are not known to have reached the stage.
  package var open: Set<String> { state.withLockedValue { $0.open } }

  /// Records that a message has reached the stage, or that it will not.
  package func done(_ id: String, _ failure: Failure? = nil) {
    wake {
      if $0.open.remove(id) != nil { $0.failures[id] = failure }
      return $0.open.isEmpty
    }
  }

  /// Returns when every message is done, after `seconds` (0 for no limit), or when the task is cancelled.
  package func wait(seconds: Double) async {
    let limit = Task {
      guard seconds > 0 else { return }
      try await Task.sleep(for: .seconds(seconds))
      self.end()
    }
    defer { limit.cancel() }
    await withTaskCancellationHandler {
      await withCheckedContinuation { waiter in
        let isOver = state.withLockedValue { state in
          if state.isOver || state.open.isEmpty { return true }
          state.waiter = waiter
          return false
        }
        if isOver { waiter.resume() }
      }
    } onCancel: {
      end()
    }
  }

  /// Ends the wait.
  package func end() {
    wake {
      $0.isOver = true
      return true
    }
  }

  private func wake(_ change: (inout State) -> Bool) {
    let waiter = state.withLockedValue { state -> CheckedContinuation<Void, Never>? in
      guard change(&state) else { return nil }
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.resume()
  }
}

/// The waits for messages to reach one stage, by message ID.
package struct DeliveryWaits {
  private var waits: [String: [DeliveryWait]] = [:]

  package init() {}

  package mutating func add(_ wait: DeliveryWait) {
    for id in wait.open { waits[id, default: []].append(wait) }
  }

  package mutating func remove(_ wait: DeliveryWait) {
    for id in wait.open {
      waits[id]?.removeAll { $0 === wait }
      if waits[id]?.isEmpty == true { waits[id] = nil }
    }
  }

  /// Records that a message has reached the stage, or that it will not.
  package mutating func done(_ id: String, _ failure: Failure? = nil) {
    for wait in waits.removeValue(forKey: id) ?? [] { wait.done(id, failure) }
  }
}
