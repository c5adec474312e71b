import AgentProtocol
import TestSupport
import Testing
import XMPPClient

@testable import AgentSession

@Suite("The decisions whether a session comes back") struct RetryStateTests {
  private var generator = SeededGenerator(seed: 1)

  private func failure(_ name: Failure.Name) -> Failure { Failure(name, stage: .stream) }

  private func attempt(_ name: Failure.Name, maxRetries: Int? = nil) -> RetryState.Attempt {
    RetryState.Attempt(failure: failure(name), maxRetries: maxRetries)
  }

  @Test("A lost connection is followed by a pause that a network change may end.")
  mutating func lostConnection() {
    var state = RetryState()
    let reaction = state.sessionLost(
      failure(.networkError), onKick: .stop, RetryState.Server(accounts: 3), at: 0, using: &generator)
    var terms = PauseTerms()
    terms.accounts = 3
    #expect(
      reaction == RetryState.Reaction(failure: failure(.networkError), verdict: .afterPause(.link, terms)))
    #expect(reaction.comesBack && reaction.seconds == nil)
  }

  @Test("The pause lasts at least as long as the rate limit of the server, whatever happens to the network.")
  mutating func rateLimit() {
    var state = RetryState()
    let reaction = state.sessionLost(
      failure(.networkError), onKick: .stop, RetryState.Server(closed: 90), at: 0, using: &generator)
    guard case .afterPause(.link, let terms) = reaction.verdict else {
      Issue.record("\(reaction)")
      return
    }
    #expect(terms.atLeast == 90 && !terms.mayHurry)
  }

  @Test(
    "A session stays offline after a ban, a refused login and the end of the service, even if it fights.",
    arguments: [Failure.Name.userBlocked, .authFailed, .loginForbidden, .serviceGone])
  mutating func stays(_ name: Failure.Name) {
    var state = RetryState()
    let reaction = state.sessionLost(
      failure(name), onKick: .fight, RetryState.Server(), at: 0, using: &generator)
    #expect(reaction == RetryState.Reaction(failure: failure(name)) && !reaction.comesBack)
  }

  @Test("After a kick, the user's wish decides whether the session comes back, and with which resource.")
  mutating func kicks() {
    for (wish, comesBack, other) in [
      (OnKick.stop, false, false), (.fight, true, false), (.reconnect, true, true),
    ] {
      var state = RetryState()
      let lost = state.sessionLost(
        failure(.kicked), onKick: wish, RetryState.Server(), at: 0, using: &generator)
      #expect(lost.comesBack == comesBack && lost.choosesOtherResource == other)
      #expect(state.remaining(at: 0) == lost.seconds ?? 0)
      #expect(state.remaining(at: 200) == 0)
      let refused = state.automaticAttemptFailed(
        attempt(.otherDeviceLogin), isCured: false, onKick: wish, RetryState.Server(), at: 200,
        using: &generator)
      #expect(refused.comesBack == comesBack && refused.choosesOtherResource == other)
    }
  }

  @Test("The user's limit of retries ends the attempts, until the session is synchronised.")
  mutating func limit() {
    var state = RetryState()
    for _ in 0..<2 {
      for _ in 0..<3 {
        state.attemptBegan()
        let reaction = state.automaticAttemptFailed(
          attempt(.networkError, maxRetries: 3), isCured: false, onKick: .stop, RetryState.Server(), at: 0,
          using: &generator)
        #expect(reaction.comesBack)
      }
      #expect(state.attempts == 3)
      let last = state.automaticAttemptFailed(
        attempt(.networkError, maxRetries: 3), isCured: false, onKick: .stop, RetryState.Server(), at: 0,
        using: &generator)
      #expect(!last.comesBack && last.failure.name == .retriesExhausted)
      #expect(last.failure.detail?.description.hasPrefix("4 attempts") == true)
      state.synchronised()
      #expect(state.attempts == 0)
    }
  }

  @Test("An attempt with fallback credentials does not count towards the limit.")
  func fallback() {
    var state = RetryState()
    var attempt = attempt(.networkError, maxRetries: 0)
    attempt.isCounted = false
    for _ in 0..<10 {
      #expect(state.userAttemptFailed(attempt, within: nil, RetryState.Server()).comesBack)
    }
    attempt.isCounted = true
    #expect(!state.userAttemptFailed(attempt, within: nil, RetryState.Server()).comesBack)
  }

  @Test("The pause of a login by a user is not longer than its time limit.")
  func timeLimit() {
    var state = RetryState()
    for (seconds, longest) in [(nil, Double.infinity), (12, 12), (-3, 0)] as [(Double?, Double)] {
      let reaction = state.userAttemptFailed(attempt(.networkError), within: seconds, RetryState.Server())
      guard case .afterPause(_, let terms) = reaction.verdict else {
        Issue.record("\(reaction)")
        return
      }
      #expect(terms.atMost == longest)
    }
  }

  @Test("An invalid certificate ends a login by a user, and a session that was online before comes back.")
  mutating func certificate() {
    var state = RetryState()
    #expect(!state.userAttemptFailed(attempt(.tlsFailure), within: nil, RetryState.Server()).comesBack)
    let automatic = state.automaticAttemptFailed(
      attempt(.tlsFailure), isCured: false, onKick: .stop, RetryState.Server(), at: 0, using: &generator)
    #expect(automatic.comesBack)
  }

  @Test("A protocol error ends the attempts, unless the next attempt avoids its cause.")
  mutating func cure() {
    for isCured in [false, true] {
      var state = RetryState()
      let reaction = state.automaticAttemptFailed(
        attempt(.protocolError), isCured: isCured, onKick: .fight, RetryState.Server(), at: 0,
        using: &generator)
      #expect(reaction.comesBack == isCured)
    }
  }

  @Test("At the start of an agent, many accounts of one server log in over several seconds.")
  mutating func start() {
    var state = RetryState()
    state.agentStarted(RetryState.Server(accounts: 1), at: 50, using: &generator)
    #expect(state.remaining(at: 50) == 0)
    state.agentStarted(RetryState.Server(accounts: 1000), at: 50, using: &generator)
    #expect((0...10).contains(state.remaining(at: 50)) && state.remaining(at: 60) == 0)
    state.loginBegan()
    #expect(state.remaining(at: 50) == 0)
  }
}
