import AgentLogin
import AgentProtocol
import XMPPClient

/// Decides whether and how a session comes back: its login plan, its failures, and what prevents its return.
///
/// The session reports what has happened. ``RetryState`` decides about the attempts; this class adds the clock and the
/// pace of the server.
final class Reconnection {
  struct End: Sendable {
    var failure: Failure
    /// The time of the clock's `uptime`.
    var time: Double
  }

  private let context: SessionContext
  /// The plan that keeps the session online; nil if it is to be offline.
  private(set) var activePlan: LoginPlan?
  /// What the session does while the user is inactive; nil: the user is active.
  private(set) var idle: IdleMode?
  /// Why the session is not online.
  private(set) var lastFailure: Failure?
  /// Why the session is no longer kept online, except after a logout.
  private(set) var end: End?
  /// How the client continues after the end of the last session in use.
  private(set) var answer = ConnectionVerdict.never
  /// Whether the agent is ending, so that no stream is opened.
  private(set) var isEnding = false
  /// The number of logouts that wait for their turn.
  private var waitingLogouts = 0
  private var retries = RetryState()
  private var generator = SystemRandomNumberGenerator()

  init(_ context: SessionContext) { self.context = context }

  private var pace: ServerPace { context.resources.pace }

  private var account: String { context.account.description }

  /// Whether the session is to be online.
  var isWanted: Bool { activePlan != nil && !isEnding && idle != .disconnect }

  /// Whether a login gives up, because a logout waits for its turn.
  var isLogoutWaiting: Bool { waitingLogouts > 0 }

  /// The number of attempts since the session was last online.
  var attempts: Int { retries.attempts }

  // MARK: What the user wants

  /// A user logs in, which is independent of earlier failures. An online session continues meanwhile.
  func loginBegan(isOnline: Bool) {
    retries.loginBegan()
    if !isOnline { forgetFailures() }
  }

  /// The session is kept online with this plan from now on.
  func activate(_ plan: LoginPlan) {
    forgetFailures()
    if activePlan?.serverName != plan.serverName { leave() }
    activePlan = plan
    pace.join(account, at: plan.serverName)
  }

  /// The same as ``activate(_:)``, but with a delay, since many accounts log in when an agent starts.
  func activateAtStart(_ plan: LoginPlan) {
    activate(plan)
    retries.agentStarted(server(of: plan), at: now, using: &generator)
  }

  /// Changes the plan that keeps the session online, if there is one.
  func changePlan(_ change: (inout LoginPlan) -> Void) {
    guard var plan = activePlan else { return }
    change(&plan)
    activePlan = plan
  }

  /// The user has logged out or deleted the account.
  func loggedOut() {
    leave()
    forgetFailures()
  }

  /// Runs `body`, a logout that waits for its turn, for which a login gives up.
  func logoutWaits<Value>(
    _ body: () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    waitingLogouts += 1
    defer { waitingLogouts -= 1 }
    return try await body()
  }

  /// The user is inactive or, with nil, active again.
  func idleChanged(to mode: IdleMode?) {
    if idle == .disconnect, mode != .disconnect { lastFailure = nil }
    idle = mode
  }

  /// The agent ends, and the stored login remains for the next agent.
  func agentEnds() {
    isEnding = true
    activePlan = nil
  }

  private func forgetFailures() {
    lastFailure = nil
    end = nil
  }

  private func leave() {
    if let activePlan { pace.leave(account, at: activePlan.serverName) }
    activePlan = nil
  }

  // MARK: What happens

  /// A connection to the server begins.
  func attemptBegan() { retries.attemptBegan() }

  /// The session is synchronised with its server.
  func synchronised() { retries.synchronised() }

  /// No attempt could begin.
  func attemptPrevented(by failure: Failure) { lastFailure = failure }

  /// An attempt of a login by a user has failed.
  ///
  /// - Parameter mayGoOn: Whether the login was not given up.
  func userAttemptFailed(_ failure: Failure, of login: PendingLogin, mayGoOn: Bool) -> RetryState.Reaction {
    var reaction = RetryState.Reaction(failure: failure)
    // If the time limit passed earlier, there was no attempt.
    guard login.attempt != nil else { return reaction }
    if login.terms.isPersistent, mayGoOn {
      reaction = retries.userAttemptFailed(
        attempt(failure, of: login), within: login.remaining, server(of: login.plan))
    }
    adopt(reaction, login.plan)
    return reaction
  }

  /// An attempt of a session that reconnects by itself has failed. The session has ended if no attempt follows and no
  /// new secret may help.
  ///
  /// - Parameter isCured: Whether the next attempt does not fail for the same reason.
  func automaticAttemptFailed(
    _ failure: Failure, of login: PendingLogin, isCured: Bool
  ) -> RetryState.Reaction {
    let reaction = retries.automaticAttemptFailed(
      attempt(failure, of: login), isCured: isCured, onKick: login.plan.onKick, server(of: login.plan),
      at: now, using: &generator)
    adopt(reaction, login.plan)
    if !reaction.comesBack, !ReconnectPolicy.needsFreshSecret(after: failure) { ended(by: reaction.failure) }
    return reaction
  }

  /// The stream of a session has ended. The client reconnects unless the reason, which ``sessionLost(_:_:)`` reports,
  /// prevents this.
  func streamEnded() { answer = isWanted ? .atOnce : .never }

  /// An online session has ended by itself.
  func sessionLost(_ failure: Failure, _ plan: LoginPlan) -> RetryState.Reaction {
    let reaction = retries.sessionLost(
      failure, onKick: plan.onKick, server(of: plan), at: now, using: &generator)
    adopt(reaction, plan)
    if !reaction.comesBack { ended(by: failure) }
    answer = isWanted ? reaction.verdict : .never
    return reaction
  }

  /// The session was ended by another party, or by the server's answer to an attempt, and stays offline.
  func ended(by failure: Failure) {
    leave()
    end = End(failure: failure, time: now)
    context.resources.activity()
  }

  private func adopt(_ reaction: RetryState.Reaction, _ plan: LoginPlan) {
    lastFailure = reaction.failure
    if reaction.comesBack { pace.join(account, at: plan.serverName) }
    if reaction.choosesOtherResource { changePlan { $0.chooseOtherResource() } }
  }

  /// Attempts with fallback credentials, while the token command fails, do not count towards the limit.
  private func attempt(_ failure: Failure, of login: PendingLogin) -> RetryState.Attempt {
    RetryState.Attempt(
      failure: failure, maxRetries: login.plan.maxRetries,
      isCounted: login.attempt?.presented.map { !$0.isFallback } ?? (failure.name != .credentialSourceFailed),
      mayHurry: activePlan != nil)
  }

  // MARK: The pace of the server

  private var now: Double { context.clock.uptime() }

  private func server(of plan: LoginPlan) -> RetryState.Server {
    RetryState.Server(
      accounts: pace.accounts(at: plan.serverName, with: account), closed: closed(plan))
  }

  /// The seconds during which the server must not be contacted; nil: it may be contacted now.
  func closed(_ plan: LoginPlan) -> Double? { pace.pause(of: plan.serverName, at: context.clock.now()) }

  /// The server has requested a slower pace.
  func close(_ plan: LoginPlan) async {
    await pace.close(plan.serverName, until: context.clock.now() + ReconnectPolicy.afterRateLimit)
  }

  /// The failure for a server that was contacted too often; nothing is sent for this number of seconds.
  func notBefore(_ seconds: Double) -> Failure {
    Failure(.rateLimited, stage: .connect, detail: .session(.notBefore, context.timestamp(seconds)))
  }

  /// The seconds until the next attempt, as far as the client does not know them.
  var remaining: Double { max(retries.remaining(at: now), activePlan.flatMap(closed) ?? 0) }
}
