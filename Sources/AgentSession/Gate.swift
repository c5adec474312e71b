/// Suspends its callers while it is closed.
final class Gate {
  private(set) var isClosed = false
  private var waiters: [CheckedContinuation<Void, Never>] = []

  func close() { isClosed = true }

  func open() {
    isClosed = false
    let waiters = waiters
    self.waiters = []
    for waiter in waiters { waiter.resume() }
  }

  /// Returns when the gate is open.
  func pass() async {
    guard isClosed else { return }
    await withCheckedContinuation { waiters.append($0) }
  }
}
