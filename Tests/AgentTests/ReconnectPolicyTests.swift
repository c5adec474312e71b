import AgentProtocol
import Testing

@testable import Agent

@Suite struct ReconnectPolicyTests {
  struct Seeded: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return state ^ (state >> 29)
    }
  }

  @Test(
    "After a lost link the first pause is below a second, then it doubles up to a minute.", arguments: 0..<50)
  func lostLink(_ seed: UInt64) {
    var generator = Seeded(state: seed)
    var policy = ReconnectPolicy()
    #expect((0...1).contains(policy.pause(after: .link, using: &generator)))
    for range in [2.0, 4, 8, 16, 32, 60, 60, 60] {
      #expect((range / 2...range).contains(policy.pause(after: .link, using: &generator)))
    }
  }

  @Test("After the server closed, the clients of one server spread over ten seconds.")
  func spread() {
    let pauses = (0..<1000).map { seed in
      var generator = Seeded(state: UInt64(seed))
      var policy = ReconnectPolicy()
      return policy.pause(after: .server, using: &generator)
    }
    #expect(pauses.allSatisfy { (0...10).contains($0) })
    #expect(pauses.filter { $0 < 5 }.count > 300)
    #expect(pauses.filter { $0 > 5 }.count > 300)
  }

  @Test("A rate limit is waited out for at least five minutes.")
  func rateLimit() {
    var generator = Seeded(state: 1)
    var policy = ReconnectPolicy()
    #expect(policy.pause(after: .rateLimit, using: &generator) >= 300)
  }

  @Test("Success starts the pauses anew; thousands of failures do not overflow.")
  func bounds() {
    var generator = Seeded(state: 1)
    var policy = ReconnectPolicy()
    for _ in 0..<5000 { #expect(policy.pause(after: .server, using: &generator) <= 60) }
    policy.succeeded()
    #expect(policy.pause(after: .link, using: &generator) <= 1)
  }
}

@Suite struct ReconnectDecisionTests {
  @Test(
    "A stream that is to be made anew is so within a second; one that the server closed is not, always.",
    arguments: [
      ("reset" as String?, ReconnectPolicy.Cause.link), (nil, .link), ("system-shutdown", .server),
      ("internal-server-error", .server),
    ])
  func cause(condition: String?, cause: ReconnectPolicy.Cause) {
    let failure = Failure(.networkError, stage: .stream, condition: condition)
    #expect(ReconnectPolicy.cause(of: failure) == cause)
  }

  @Test(
    "A running session that someone else ended is not taken back; anything else is.",
    arguments: [
      (Failure.Name.kicked, true), (.otherDeviceLogin, true), (.userBlocked, true), (.authFailed, true),
      (.networkError, false), (.protocolError, false), (.rateLimited, false), (.serviceGone, false),
      (.tooManyDevices, false),
    ])
  func ends(_ name: Failure.Name, _ ends: Bool) {
    #expect(ReconnectPolicy.ends(Failure(name, stage: .stream)) == ends)
  }

  @Test(
    "An attempt to come back is followed by another unless it was refused for good.",
    arguments: [
      (Failure.Name.networkError, true), (.connectTimeout, true), (.connectionRefused, true),
      (.unknownDomain, true), (.rateLimited, true), (.tooManyDevices, true), (.tlsFailure, true),
      (.authFailed, false), (.userBlocked, false), (.serviceGone, false), (.protocolError, false),
      (.downgrade, false), (.databaseError, false), (.invalidParameter, false), (.cancelled, false),
      (.mechanismUnavailable, false), (.tokenExpired, false),
    ])
  func comesBack(_ name: Failure.Name, _ comesBack: Bool) {
    #expect(ReconnectPolicy.comesBack(after: Failure(name, stage: .connect)) == comesBack)
  }

  @Test("A login that waits as long as it takes does not wait for another certificate.")
  func certificate() {
    #expect(!ReconnectPolicy.triesAgain(after: Failure(.tlsFailure, stage: .tls)))
    #expect(ReconnectPolicy.triesAgain(after: Failure(.connectionRefused, stage: .connect)))
  }

  @Test("The pause after a failure is as long as its cause asks for.")
  func causes() {
    #expect(ReconnectPolicy.cause(of: Failure(.networkError, stage: .stream)) == .link)
    #expect(
      ReconnectPolicy.cause(of: Failure(.networkError, stage: .stream, condition: "system-shutdown"))
        == .server)
    #expect(ReconnectPolicy.cause(of: Failure(.rateLimited, stage: .stream)) == .rateLimit)
  }
}
