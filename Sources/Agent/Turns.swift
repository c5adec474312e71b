/// Lets one pass at a time, in the order in which they have come.
final class Turns {
  private(set) var isTaken = false
  private var waiters: [CheckedContinuation<Void, Never>] = []

  /// Somebody waits for the turn after this one.
  var isAwaited: Bool { !waiters.isEmpty }

  /// Returns when it is the caller's turn; ``end()`` follows.
  func begin() async {
    guard isTaken else {
      isTaken = true
      return
    }
    await withCheckedContinuation { waiters.append($0) }
  }

  /// Whoever has waited longest is next.
  func end() {
    isTaken = !waiters.isEmpty
    if isTaken { waiters.removeFirst().resume() }
  }
}
