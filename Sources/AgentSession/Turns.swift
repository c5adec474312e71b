/// Admits one caller at a time, in the order of the calls.
final class Turns {
  private(set) var isTaken = false
  private var waiters: [CheckedContinuation<Void, Never>] = []

  /// Whether another caller waits for its turn.
  var isAwaited: Bool { !waiters.isEmpty }

  /// Returns when it is the caller's turn. The caller must call ``end()`` afterwards.
  func begin() async {
    guard isTaken else {
      isTaken = true
      return
    }
    await withCheckedContinuation { waiters.append($0) }
  }

  /// Ends the turn. The caller that has waited longest is next.
  func end() {
    isTaken = !waiters.isEmpty
    if isTaken { waiters.removeFirst().resume() }
  }
}
