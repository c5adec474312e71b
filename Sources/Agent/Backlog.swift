import NIOConcurrencyHelpers

/// How many events were handed to a subscriber and how many it is done with.
final class Backlog: Sendable {
  private struct State {
    var added = 0
    var done = 0
    var octets = 0
    var isOver = false
    var waiting: [(until: Int, isReleasable: Bool, CheckedContinuation<Void, Never>)] = []
  }
  private let state = NIOLockedValueBox(State())

  /// - Parameter count: how many were handed over already.
  init(of count: Int = 0) { state.withLockedValue { $0.added = count } }

  /// Events that the subscriber is not done with.
  var pending: Int { state.withLockedValue { $0.added - $0.done } }

  /// Octets of memory that they take, as far as these were told.
  var octets: Int { state.withLockedValue { $0.octets } }

  /// Nobody will be done with anything any more.
  var isOver: Bool { state.withLockedValue { $0.isOver } }

  func add(octets: Int = 0) {
    state.withLockedValue { state in
      state.added += 1
      state.octets += octets
    }
  }

  func done(_ count: Int = 1, octets: Int = 0) {
    wake { state in
      state.done += count
      state.octets -= octets
    }
  }

  /// It cannot be done now: ends the waits that may be released.
  func release() { wake(released: true) { _ in } }

  /// Nobody will be done with anything any more.
  func end() { wake { $0.isOver = true } }

  /// Returns when everything added before is done.
  ///
  /// - Parameter isReleasable: or when it turns out that this takes long.
  func empty(isReleasable: Bool = false) async {
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
