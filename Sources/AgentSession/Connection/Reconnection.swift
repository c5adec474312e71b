import AgentLogin
import AgentProtocol
import XMPPClient

/// Whether and how a session comes back: what it is to be online with, and what is known of its failures.
final class Reconnection {
  struct End: Sendable {
    var failure: Failure
    /// By the clock's `uptime`.
    var time: Double
  }

  private let context: SessionContext
  /// What the session keeps itself online with; nil where nobody wants it online.
  var activePlan: LoginPlan?
  /// What the session does while the user looks away; nil: the user is there.
  var idle: IdleMode?
  /// Why it is not online.
  var lastFailure: Failure?
  /// Why it is not kept online any more, where nobody has logged out.
  var end: End?
  /// What follows on the end of the last session that was in use.
  var answer = ConnectionVerdict.never
  /// Attempts since the session was last online.
  var attempts = 0
  /// The agent is about to end: nothing is opened any more.
  var isEnding = false
  /// Logouts that wait for their turn: who tries to log in gives up.
  var leaving = 0
  /// Attempts that were granted again, as far as they count.
  private var retries = 0
  private var kickPolicy = KickPolicy()
  /// When the next attempt is due, by the clock's `uptime`; nil: at once.
  private var due: Double?

  init(_ context: SessionContext) { self.context = context }

  private var pace: ServerPace { context.resources.pace }

  /// The session is to be online.
  var isWanted: Bool { activePlan != nil && !isEnding && idle != .disconnect }

  private var account: String { context.account.description }

  /// A login by hand begins, which has nothing to do with what was before.
  func begin() {
    attempts = 0
    retries = 0
    due = nil
    kickPolicy.begin()
  }

  /// The session is in step with its server.
  func succeeded() {
    attempts = 0
    retries = 0
    due = nil
  }

  /// The session is kept online with this from now on.
  func activate(_ plan: LoginPlan) {
    activePlan = plan
    pace.join(account, at: plan.serverName)
  }

  /// As ``activate(_:)``, as many others do at the same moment.
  func activateAtStart(_ plan: LoginPlan) {
    activePlan = plan
    var generator = SystemRandomNumberGenerator()
    let accounts = pace.join(account, at: plan.serverName)
    due = context.clock.uptime() + ReconnectPolicy.start(among: accounts, using: &generator)
  }

  /// Nobody wants the session online any more.
  func deactivate() {
    if let activePlan { pace.leave(account, at: activePlan.serverName) }
    activePlan = nil
    lastFailure = nil
    end = nil
  }

  /// Somebody else, or the server's answer to an attempt, decided that the session is over.
  func over(_ failure: Failure) {
    if let activePlan { pace.leave(account, at: activePlan.serverName) }
    activePlan = nil
    end = End(failure: failure, time: context.clock.uptime())
  }

  // MARK: Pauses

  /// Seconds for which the server is not to be asked; nil: it may be.
  func closed(_ plan: LoginPlan) -> Double? { pace.pause(of: plan.serverName, at: context.clock.now()) }

  /// The server has asked for a slower pace.
  func close(_ plan: LoginPlan) async {
    await pace.close(plan.serverName, until: context.clock.now() + ReconnectPolicy.afterRateLimit)
  }

  /// The server was asked too often: nothing is sent for so many seconds.
  func notBefore(_ seconds: Double) -> Failure {
    Failure(.rateLimited, stage: .connect, detail: .session(.notBefore, context.timestamp(seconds)))
  }

  /// Seconds until the next attempt of a session that is to come back, as far as the client does not know them.
  var remaining: Double {
    max(due.map { $0 - context.clock.uptime() } ?? 0, activePlan.flatMap(closed) ?? 0)
  }

  /// The next attempt follows after a pause.
  ///
  /// - Parameter seconds: what is left of the time for it.
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

  /// Throws `retriesExhausted` where the user wants no more attempts. What was tried while a token was waited for is not
  /// counted.
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

  /// What follows on an end that somebody else decided: the seconds until the session comes back; nil: it does not.
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
