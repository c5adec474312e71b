import NIOCore
import Testing

@testable import AgentSession

@Suite("The time limits within a logout") struct LogoutTimeTests {
  private let start = ContinuousClock.now

  /// Seconds that each part takes at most, one after the other.
  private func parts(_ limit: Double, flush: Double = 10) -> [Double] {
    let time = LogoutTime(limit: limit, from: start)
    var now = start
    func taken(_ seconds: Double) -> Double {
      now += .seconds(seconds)
      return seconds
    }
    let waited = taken(time.flush(flush, at: now))
    let closed = taken(Double(time.close(at: now).nanoseconds) / 1e9)
    return [waited, closed, taken(time.revocation(max(flush, 10), at: now))]
  }

  @Test(
    "The steps of a logout share its time limit, so that the last one ends before the caller gives up.",
    arguments: [1, 2, 5, 10, 19, 30, 300])
  func limited(limit: Double) {
    let parts = parts(limit)
    #expect(parts.reduce(0, +) < limit)
    #expect(parts.allSatisfy { $0 > 0 })
    // What was not waited for is there for the rest.
    #expect(self.parts(limit, flush: 0)[1] >= parts[1])
  }

  @Test(
    "Each step of a logout gets its full time if the limit is absent or the command's default.")
  func unlimited() {
    #expect(parts(0) == [10, 5, 10])
    #expect(parts(30) == [10, 5, 10])
    #expect(parts(20).prefix(2) == [10, 5])
  }

  @Test("A step of a logout that begins after the time limit gets 50 milliseconds.")
  func over() {
    let time = LogoutTime(limit: 5, from: start)
    #expect(time.close(at: start + .seconds(60)) == .milliseconds(50))
  }
}
