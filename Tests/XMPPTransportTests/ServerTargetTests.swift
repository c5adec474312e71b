import TestSupport
import Testing
import XMPPTransport

@Suite struct ServerTargetTests {
  private func target(_ host: String, _ priority: UInt16, _ weight: UInt16, _ tls: TLSMode = .startTLS)
    -> ServerTarget
  {
    ServerTarget(host: host, port: 5222, tls: tls, priority: priority, weight: weight)
  }

  /// How often each host comes first, in `rounds` draws.
  private func winners(_ targets: [ServerTarget], rounds: Int) -> [String: Int] {
    var generator = SeededGenerator(seed: 42)
    return (0..<rounds).reduce(into: [:]) { counts, _ in
      counts[targets.inTryingOrder(using: &generator)[0].host, default: 0] += 1
    }
  }

  @Test("Targets with a lower priority value come first, whatever their weights are.")
  func priorities() {
    let targets = [target("c", 30, 65_535), target("a", 0, 0), target("b", 20, 1), target("d", 65_535, 9)]
    for seed in 0..<20 {
      var generator = SeededGenerator(seed: UInt64(seed))
      #expect(targets.inTryingOrder(using: &generator).map(\.host) == ["a", "b", "c", "d"])
    }
  }

  @Test("The share of attempts in which a target of one priority comes first corresponds to its weight.")
  func weights() {
    let counts = winners([target("a", 5, 10), target("b", 5, 30), target("c", 5, 60)], rounds: 20_000)
    for (host, share) in ["a": 0.1, "b": 0.3, "c": 0.6] {
      #expect(abs(Double(counts[host, default: 0]) / 20_000 - share) < 0.03)
    }
  }

  @Test("A target of weight 0 has a small chance beside targets of other weights.")
  func weightZero() {
    let counts = winners([target("heavy", 1, 99), target("zero", 1, 0)], rounds: 20_000)
    // One draw in a hundred.
    #expect((100...320).contains(counts["zero", default: 0]))
  }

  @Test("Targets that all have weight 0 have equal chances.")
  func allZero() {
    let counts = winners([target("a", 1, 0), target("b", 1, 0)], rounds: 10_000)
    #expect((4_600...5_400).contains(counts["a", default: 0]))
  }

  @Test("Every target occurs exactly once in the order, even with the greatest weights.")
  func complete() {
    var generator = SeededGenerator(seed: 3)
    let targets = (0..<64).map { target("h\($0)", UInt16($0 % 3), .max) }
    let ordered = targets.inTryingOrder(using: &generator)
    #expect(Set(ordered) == Set(targets))
    #expect(ordered.count == 64)
    #expect(ordered.map(\.priority) == ordered.map(\.priority).sorted())
    #expect([ServerTarget]().inTryingOrder(using: &generator).isEmpty)
  }

  @Test("Direct TLS and STARTTLS targets are ordered together by priority and weight.")
  func mixed() {
    var generator = SeededGenerator(seed: 1)
    let targets = [target("tls", 10, 0, .direct), target("plain", 5, 0), target("last", 20, 0)]
    #expect(targets.inTryingOrder(using: &generator).map(\.host) == ["plain", "tls", "last"])
    let counts = winners([target("tls", 5, 50, .direct), target("plain", 5, 50)], rounds: 10_000)
    #expect((4_600...5_400).contains(counts["tls", default: 0]))
  }
}
