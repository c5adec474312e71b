import AgentLogin
import AgentProtocol
import XMPPClient

/// Decides whether and how a session comes back: its login plan and its failures.
final class Reconnection {
  struct End: Sendable {
    var failure: Failure
    /// The time of the clock's `uptime`.
    var time: Double
  }

  private let context: SessionContext
  /// The plan that keeps the session online; nil if it is to be offline.
  var activePlan: LoginPlan?
  /// What the session does while the user is inactive; nil: the user is active.
  var idle: IdleMode?
  /// Why the session is not online.
  var lastFailure: Failure?
  /// Why the session is no longer kept online, except after a logout.
  var end: End?
  /// How the client continues after the end of the last session in use.
  var answer = ConnectionVerdict.never
  /// The number of attempts since the session was last online.
  var attempts = 0
  /// Whether the agent is ending, so that no stream is opened.
  var isEnding = false
  /// The number of logouts that wait for their turn, for which a login gives up.
  var leaving = 0
  /// The number of retries that count towards the limit.
  private var retries = 0
  private var kickPolicy = KickPolicy()
  /// When the next attempt is due, as a time of the clock's `uptime`; nil: at once.
  private var due: Double?

  init(_ context: SessionContext) { self.context = context }

  private var pace: ServerPace { context.resources.pace }

  /// Whether the session is to be online.
  var isWanted: Bool { activePlan != nil && !isEnding && idle != .disconnect }

  private var account: String { context.account.description }

  /// Begins a login by a user, which is independent of earlier failures.
  func begin() {
    attempts = 0
    retries = 0
    due = nil
    kickPolicy.begin()
  }

  /// The session is synchronised with its server.
  func succeeded() {
    attempts = 0
    retries = 0
    due = nil
  }

  /// Keeps the session online with this plan from now on.
  func activate(_ plan: LoginPlan) {
    activePlan = plan
    pace.join(account, at: plan.serverName)
  }

  /// The same as ``activate(_:)``, but with a delay, since many accounts log in at the same time.
  func activateAtStart(_ plan: LoginPlan) {
    activePlan = plan
    var generator = SystemRandomNumberGenerator()
    let accounts = pace.join(account, at: plan.serverName)
    due = context.clock.uptime() + ReconnectPolicy.start(among: accounts, using: &generator)
  }

  /// Keeps the session offline from now on.
  func deactivate() {
    if let activePlan { pace.leave(account, at: activePlan.serverName) }
    activePlan = nil
    lastFailure = nil
    end = nil
  }

  /// The session was ended by another party, or by the server's answer to an attempt, and stays offline.
  func over(_ failure: Failure) {
    if let activePlan { pace.leave(account, at: activePlan.serverName) }
    activePlan = nil
    end = End(failure: failure, time: context.clock.uptime())
  }

  // MARK: Pauses

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
  var remaining: Double {
    max(due.map { $0 - context.clock.uptime() } ?? 0, activePlan.flatMap(closed) ?? 0)
  }

  /// The next attempt follows after a pause.
  ///
  /// - Parameter seconds: The remaining seconds of the time limit.
  func pause(after failure: Failure, _ plan: LoginPlan, within seconds: Double? = nil) -> ConnectionVerdict {
    var terms = PauseTerms()
    terms.accounts = pace.join(account, at: plan.serverName)
    if let closed = closed(plan) {
      terms.atLeast = closed
      terms.mayHurry = false
    }
    if let seconds { terms.atMost = max(0, seconds) }
    if activePlan == nil || !ReconnectPolicy.mayHurry(after: failure) { terms.mayHurry = false }
    return .afterPause(ReconnectPolicy.cause(of: failure), terms)
  }

  // MARK: Failures

  /// Throws `retriesExhausted` if the user's limit of attempts is reached. Attempts with fallback credentials, while
  /// the token command fails, do not count.
  func grantRetry(of login: PendingLogin, _ plan: LoginPlan, after failure: Failure) throws(Failure) {
    let isCounted =
      login.attempt?.presented.map { !$0.isFallback } ?? (failure.name != .credentialSourceFailed)
    guard isCounted, let limit = plan.maxRetries else { return }
    guard retries < limit else {
      throw Failure(
        .retriesExhausted, stage: failure.stage,
        detail: .session(.attempts, retries + 1, failure.name.rawValue),
        condition: failure.condition, text: failure.text)
    }
    retries += 1
  }

  /// The reaction to an end by another party: the seconds until the session comes back; nil if it does not.
  func comesBack(after failure: Failure, _ plan: LoginPlan) -> Double? {
    guard [.kicked, .otherDeviceLogin].contains(failure.name) else { return nil }
    var generator = SystemRandomNumberGenerator()
    switch kickPolicy.answer(plan.onKick, at: context.clock.uptime(), using: &generator) {
    case .stop: return nil
    case .comeBack(let seconds, let newResource):
      due = context.clock.uptime() + seconds
      if newResource { activePlan?.chooseOtherResource() }
      return seconds
    }
  }
}
