import NIOConcurrencyHelpers

/// Counts the events handed to a subscriber and the events that the subscriber has finished with.
package final class Backlog: Sendable {
  private struct State {
    var added = 0
    var done = 0
    var octets = 0
    var isOver = false
    var waiting: [(until: Int, isReleasable: Bool, CheckedContinuation<Void, Never>)] = []
  }
  private let state = NIOLockedValueBox(State())

  /// - Parameter count: the number of events that were handed over already.
  package init(of count: Int = 0) { state.withLockedValue { $0.added = count } }

  /// The number of events that the subscriber has not finished with.
  package var pending: Int { state.withLockedValue { $0.added - $0.done } }

  /// The octets of memory that the pending events take, as far as the callers of ``add(octets:)`` reported them.
  package var octets: Int { state.withLockedValue { $0.octets } }

  /// Whether the subscriber is gone, so that no event will be finished any more.
  package var isOver: Bool { state.withLockedValue { $0.isOver } }

  package func add(octets: Int = 0) {
    state.withLockedValue { state in
      state.added += 1
      state.octets += octets
    }
  }

  package func done(_ count: Int = 1, octets: Int = 0) {
    wake { state in
      state.done += count
      state.octets -= octets
    }
  }

  /// Ends the releasable waits, because the subscriber cannot finish its events now.
  func release() { wake(released: true) { _ in } }

  /// Ends all waits, because the subscriber is gone.
  package func end() { wake { $0.isOver = true } }

  /// Returns when every event that was added before this call is finished.
  ///
  /// - Parameter isReleasable: the wait also ends on ``release()``.
  package func empty(isReleasable: Bool = false) async {
    await withCheckedContinuation { waiter in
      let isEmpty = state.withLockedValue { state in
        if state.isOver || state.done >= state.added { return true }
        state.waiting.append((state.added, isReleasable, waiter))
        return false
      }
      if isEmpty { waiter.resume() }
    }
  }

  private func wake(released: Bool = false, _ change: (inout State) -> Void) {
    let woken = state.withLockedValue { state in
      change(&state)
      let (isOver, done) = (state.isOver, state.done)
      func isWoken(_ until: Int, _ isReleasable: Bool) -> Bool {
        isOver || done >= until || (released && isReleasable)
      }
      defer { state.waiting.removeAll { isWoken($0.until, $0.isReleasable) } }
      return state.waiting.filter { isWoken($0.until, $0.isReleasable) }
    }
    for (_, _, waiter) in woken { waiter.resume() }
  }
}
