import Synchronization

/// How many events were handed to a subscriber and how many it is done with.
final class Backlog: Sendable {
  private struct State {
    var added = 0
    var done = 0
    var isOver = false
    var waiting: [(until: Int, CheckedContinuation<Void, Never>)] = []
  }
  private let state = Mutex(State())

  /// Events that the subscriber is not done with.
  var pending: Int { state.withLock { $0.added - $0.done } }

  func add() { state.withLock { $0.added += 1 } }

  func done(_ count: Int = 1) { wake { $0.done += count } }

  /// Nobody will be done with anything any more.
  func end() { wake { $0.isOver = true } }

  /// Returns when everything added before is done.
  func empty() async {
    await withCheckedContinuation { waiter in
      let isEmpty = state.withLock { state in
        if state.isOver || state.done >= state.added { return true }
        state.waiting.append((state.added, waiter))
        return false
      }
      if isEmpty { waiter.resume() }
    }
  }

  private func wake(_ change: (inout State) -> Void) {
    let woken = state.withLock { state in
      change(&state)
      let woken = state.waiting.filter { state.isOver || state.done >= $0.until }
      state.waiting.removeAll { state.isOver || state.done >= $0.until }
      return woken
    }
    for (_, waiter) in woken { waiter.resume() }
  }
}
