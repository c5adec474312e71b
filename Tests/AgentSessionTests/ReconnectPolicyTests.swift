import AgentProtocol
import TestSupport
import Testing
import XMPPClient

@testable import AgentSession

@Suite struct ReconnectPolicyTests {
  @Test(
    "After a lost connection, the first pause is at most a second, and further pauses double up to a minute.",
    arguments: 0..<50)
  func lostLink(_ seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    var policy = ReconnectPolicy()
    #expect((0...1).contains(policy.pause(after: .link, using: &generator)))
    for range in [2.0, 4, 8, 16, 32, 60, 60, 60] {
      #expect((range / 2...range).contains(policy.pause(after: .link, using: &generator)))
    }
  }

  @Test("After a server has closed its streams, the clients spread their reconnects over ten seconds.")
  func spread() {
    let pauses = (0..<1000).map { seed in
      var generator = SeededGenerator(seed: UInt64(seed))
      var policy = ReconnectPolicy()
      return policy.pause(after: .server, using: &generator)
    }
    #expect(pauses.allSatisfy { (0...10).contains($0) })
    #expect(pauses.filter { $0 < 5 }.count > 300)
    #expect(pauses.filter { $0 > 5 }.count > 300)
  }

  @Test("After a rate limit, the pause is at least five minutes.")
  func rateLimit() {
    var generator = SeededGenerator(seed: 1)
    var policy = ReconnectPolicy()
    #expect(policy.pause(after: .rateLimit, using: &generator) >= 300)
  }

  @Test("A new loss starts the pauses from the beginning, and thousands of failures cause no overflow.")
  func bounds() {
    var generator = SeededGenerator(seed: 1)
    var policy = ReconnectPolicy()
    for _ in 0..<5000 { #expect(policy.pause(after: .server, using: &generator) <= 60) }
    policy.lost(after: 0.1, .link)
    #expect(policy.pause(after: .link, using: &generator) <= 1)
  }

  @Test("A server that accepts each login and ends the session at once is contacted ever more slowly.")
  func shortSessions() {
    for cause in [ReconnectPolicy.Cause.reset, .server] {
      var generator = SeededGenerator(seed: 7)
      var policy = ReconnectPolicy()
      var pauses: [Double] = []
      for _ in 0..<8 {
        pauses.append(policy.pause(after: cause, using: &generator))
        policy.lost(after: 2, cause)
      }
      #expect(pauses.last ?? 0 >= 30)
      policy.lost(after: ReconnectPolicy.settled, cause)
      #expect(policy.pause(after: cause, using: &generator) <= (cause == .reset ? 0 : 10))
    }
  }

  @Test(
    "A session that ends as soon as it is online comes back ever more slowly, whatever has ended it.",
    arguments: ReconnectPolicy.Cause.allCases, [1, 1000])
  func instantEnds(cause: ReconnectPolicy.Cause, accounts: Int) {
    for seed in 0..<20 {
      var generator = SeededGenerator(seed: UInt64(seed))
      var policy = ReconnectPolicy()
      var pauses: [Double] = []
      for _ in 0..<40 {
        policy.lost(after: 0.1, cause)
        pauses.append(policy.pause(after: cause, among: accounts, using: &generator))
      }
      var time = 0.0
      let early = pauses.prefix {
        time += $0
        return time < 12
      }
      #expect(early.count <= 20 && pauses.suffix(20).allSatisfy { $0 >= 30 }, "\(pauses)")
      // One that has held is taken up at once again.
      policy.lost(after: ReconnectPolicy.settled, cause)
      let next = policy.pause(after: cause, among: accounts, using: &generator)
      #expect(cause == .later || cause == .rateLimit || next <= 10)
    }
  }

  @Test("A connection that breaks every few seconds is restored at once, however often it breaks.")
  func poorLink() {
    var generator = SeededGenerator(seed: 3)
    var policy = ReconnectPolicy()
    for _ in 0..<1000 {
      policy.lost(after: 2, .link)
      #expect(policy.pause(after: .link, using: &generator) <= 1)
    }
  }

  @Test("After a reset, the next attempt follows without a pause.", arguments: 0..<20)
  func reset(_ seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    var policy = ReconnectPolicy()
    #expect(policy.pause(after: .reset, using: &generator) == 0)
  }

  @Test("After an error about missing resources, the pauses are between half a minute and ten minutes.")
  func later() {
    var generator = SeededGenerator(seed: 3)
    var policy = ReconnectPolicy()
    let pauses = (0..<20).map { _ in policy.pause(after: .later, using: &generator) }
    #expect(pauses.allSatisfy { (30...600).contains($0) })
    #expect(pauses.last ?? 0 >= 300)
  }

  @Test(
    "A thousand accounts of one server spread their reconnects over ten seconds, and ten accounts do not.")
  func crowd() {
    func pauses(_ cause: ReconnectPolicy.Cause, _ accounts: Int) -> [Double] {
      (0..<accounts).map { seed in
        var generator = SeededGenerator(seed: UInt64(seed) &* 77_777)
        var policy = ReconnectPolicy()
        return policy.pause(after: cause, among: accounts, using: &generator)
      }
    }
    for cause in [ReconnectPolicy.Cause.link, .server, .reset] {
      let all = pauses(cause, 1000)
      for second in 0..<10 {
        let count = all.count { $0 >= Double(second) && $0 < Double(second + 1) }
        #expect((50...200).contains(count), "\(cause), second \(second): \(count)")
      }
    }
    #expect(pauses(.link, 10).allSatisfy { $0 <= 1 })
    #expect(pauses(.reset, 10).allSatisfy { $0 == 0 })
    var generator = SeededGenerator(seed: 5)
    #expect(ReconnectPolicy.start(among: 10, using: &generator) == 0)
    let starts = (0..<1000).map { _ in ReconnectPolicy.start(among: 1000, using: &generator) }
    #expect(starts.max() ?? 0 > 9 && starts.min() ?? 1 < 1)
  }
}

@Suite struct ReconnectDecisionTests {
  @Test(
    "The cause of the pause follows from the condition of the stream error.",
    arguments: [
      ("reset" as String?, ReconnectPolicy.Cause.reset), (nil, .link), ("system-shutdown", .server),
      ("internal-server-error", .server),
    ])
  func cause(condition: String?, cause: ReconnectPolicy.Cause) {
    let failure = Failure(.networkError, stage: .stream, condition: condition)
    #expect(ReconnectPolicy.cause(of: failure) == cause)
  }

  @Test(
    "A session that a kick, a ban or a refused login has ended is not restored, and any other one is.",
    arguments: [
      (Failure.Name.kicked, true), (.otherDeviceLogin, true), (.userBlocked, true), (.authFailed, true),
      (.networkError, false), (.protocolError, false), (.rateLimited, false), (.serviceGone, false),
      (.tooManyDevices, false),
    ])
  func ends(_ name: Failure.Name, _ ends: Bool) {
    #expect(ReconnectPolicy.ends(Failure(name, stage: .stream)) == ends)
  }

  @Test(
    "A failed reconnect is followed by another attempt unless it was refused for good.",
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

  @Test(
    "A login without a time limit is repeated after a refused connection, and not after a bad certificate.")
  func certificate() {
    #expect(!ReconnectPolicy.triesAgain(after: Failure(.tlsFailure, stage: .tls)))
    #expect(ReconnectPolicy.triesAgain(after: Failure(.connectionRefused, stage: .connect)))
  }

  @Test("The cause of a failure determines the length of the pause after it.")
  func causes() {
    #expect(ReconnectPolicy.cause(of: Failure(.networkError, stage: .stream)) == .link)
    #expect(
      ReconnectPolicy.cause(of: Failure(.networkError, stage: .stream, condition: "system-shutdown"))
        == .server)
    #expect(ReconnectPolicy.cause(of: Failure(.rateLimited, stage: .stream)) == .rateLimit)
  }
}

/// What follows on each failure of the table.
@Suite("The consequences of each failure") struct FailureConsequenceTests {
  struct Row: Sendable, CustomTestStringConvertible {
    var name: Failure.Name
    /// A login whose user waits, by `--timeout 0` or `--auto`.
    var waiting: Bool
    /// A session that comes back by itself.
    var automatic: Bool
    /// Before the next attempt, where there is one.
    var pause: ReconnectPolicy.Cause?
    /// The command for a fresh secret is asked.
    var asks = false
    /// A running session that ended so is over.
    var ends = false
    var testDescription: String { name.rawValue }

    init(
      _ name: Failure.Name, _ waiting: Bool, _ automatic: Bool, _ pause: ReconnectPolicy.Cause? = nil,
      asks: Bool = false, ends: Bool = false
    ) {
      self.name = name
      self.waiting = waiting
      self.automatic = automatic
      self.pause = pause
      self.asks = asks
      self.ends = ends
    }
  }

  static let rows: [Row] = [
    .init(.invalidParameter, false, false), .init(.notLoggedIn, false, false),
    .init(.firstLoginNeedsNetwork, false, false), .init(.unknownDomain, true, true, .link),
    .init(.serviceGone, false, false), .init(.connectionRefused, true, true, .link),
    .init(.mechanismUnavailable, false, false), .init(.agentUnreachable, false, false),
    .init(.internalError, false, false), .init(.tlsFailure, false, true, .link),
    .init(.databaseError, false, false), .init(.outputFailed, false, false),
    .init(.stanzaError, false, false),
    .init(.networkError, true, true, .link), .init(.connectTimeout, true, true, .link),
    .init(.retriesExhausted, true, true, .link), .init(.alreadyRunning, true, true, .link),
    .init(.protocolError, false, false), .init(.downgrade, false, false),
    .init(.authFailed, false, false, asks: true, ends: true),
    .init(.tokenIncorrect, false, false, asks: true, ends: true),
    .init(.invalidToken, false, false, asks: true, ends: true),
    .init(.clientRejected, false, false, ends: true),
    .init(.credentialSourceFailed, false, true, .link), .init(.notInitialized, false, false),
    .init(.tokenExpired, false, false, asks: true), .init(.sessionExpired, false, false, asks: true),
    .init(.kicked, false, false, ends: true), .init(.otherDeviceLogin, false, false, ends: true),
    .init(.loginForbidden, false, false, ends: true), .init(.userBlocked, false, false, ends: true),
    .init(.proxyUnavailable, true, true, .link), .init(.deviceChanged, false, false, asks: true),
    .init(.tooManyDevices, true, true, .later), .init(.rateLimited, true, true, .rateLimit),
    .init(.deliveryUnconfirmed, false, false), .init(.cancelled, false, false),
  ]

  @Test("The table of consequences has one row for every failure.")
  func total() {
    #expect(Set(Self.rows.map(\.name)) == Set(FailureTable.rows.map(\.name)))
    #expect(Self.rows.count == FailureTable.rows.count)
  }

  @Test(
    "Each failure leads to another attempt or to the end, in manual and in automatic logins.", arguments: rows
  )
  func attempts(_ row: Row) {
    let failure = Failure(row.name, stage: .authenticate)
    #expect(ReconnectPolicy.triesAgain(after: failure) == row.waiting)
    #expect(ReconnectPolicy.comesBack(after: failure) == row.automatic)
    #expect(ReconnectPolicy.needsFreshSecret(after: failure) == row.asks)
    #expect(ReconnectPolicy.ends(failure) == row.ends)
    if let pause = row.pause { #expect(ReconnectPolicy.cause(of: failure) == pause) }
  }

  @Test(
    "A session ends if the domain is gone from its server, and comes back if the domain is unknown for now.")
  func gone() {
    let gone = Failure(.serviceGone, stage: .stream, condition: "host-gone")
    #expect(ReconnectPolicy.isGone(gone) && !ReconnectPolicy.ends(gone))
    #expect(!ReconnectPolicy.triesAgain(after: gone) && !ReconnectPolicy.comesBack(after: gone))
    for refused in [
      Failure(.unknownDomain, stage: .stream, condition: "host-unknown"),
      Failure(.unknownDomain, stage: .dns),
    ] {
      #expect(!ReconnectPolicy.isGone(refused) && !ReconnectPolicy.ends(refused))
      #expect(ReconnectPolicy.triesAgain(after: refused) && ReconnectPolicy.comesBack(after: refused))
    }
  }
}
