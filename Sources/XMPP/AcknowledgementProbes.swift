/// The callers that wait for any acknowledgement by the server (XEP-0198 §4).
struct AcknowledgementProbes {
  typealias Waiter = CheckedContinuation<Result<Bool, XMPPError>, Never>

  private var waiters: [UInt64: Waiter] = [:]
  private var last: UInt64 = 0

  var isEmpty: Bool { waiters.isEmpty }

  /// Returns the number of a new probe.
  mutating func next() -> UInt64 {
    last &+= 1
    return last
  }

  mutating func add(_ waiter: Waiter, _ number: UInt64) { waiters[number] = waiter }

  mutating func end(_ number: UInt64, _ answer: Result<Bool, XMPPError>) {
    waiters.removeValue(forKey: number)?.resume(returning: answer)
  }

  mutating func end(_ answer: Result<Bool, XMPPError>) {
    for waiter in waiters.values { waiter.resume(returning: answer) }
    waiters = [:]
  }
}
