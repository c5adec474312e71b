import AgentLogin
import AgentProtocol
import XMPP
import XMPPClient
import XMPPSASL

/// A login with all its attempts, until it succeeds or ends.
final class PendingLogin {
  /// The terms of its attempts.
  struct Terms: Sendable {
    /// Whether the session reconnects by itself, and no command waits.
    var isAutomatic = false
    /// Whether further attempts follow a failure that may be temporary.
    var isPersistent = false
    /// Whether a new secret is requested if the stored one is refused.
    var renewsSecret = false
    /// The time limit of each attempt in seconds.
    var limit = 30.0
    /// The time limit of all attempts together in seconds; nil: none.
    var totalLimit: Double?
    /// Whether the login succeeds as soon as a resource is bound.
    var noSync = false
    /// Whether to report sent and received elements.
    var wire = false
    /// The presence from now on.
    var presence: PresenceShow?
  }

  /// The number of this login among those of its session.
  let number: Int
  let terms: Terms
  /// The plan of the next attempt.
  private(set) var plan: LoginPlan
  /// The current attempt; nil before the first one.
  private(set) var attempt: LoginAttempt?
  /// The pause before the next attempt: its end (RFC 3339), and whether a network change may end it earlier.
  private(set) var pause: (end: String, mayHurry: Bool)?
  /// Why the attempt failed, unless the stream has the reason.
  private(set) var failure: Failure?
  /// Whether the login has succeeded, failed or been given up. A command that waits for it may not know this yet.
  private(set) var isOver = false
  private let began = ContinuousClock.now
  private var result: Result<LoginMethod.Result, Failure>?
  private var waiter: CheckedContinuation<Result<LoginMethod.Result, Failure>, Never>?

  init(_ plan: LoginPlan, _ terms: Terms, number: Int) {
    self.number = number
    self.plan = plan
    self.terms = terms
  }

  /// Whether a stream of this login is opening. An online session continues meanwhile.
  var isConnecting: Bool { attempt?.isConnecting == true }

  /// The remaining seconds of all attempts; nil: no time limit.
  var remaining: Double? {
    terms.totalLimit.map { $0 - (ContinuousClock.now - began) / .seconds(1) }
  }

  /// The next attempt uses this plan.
  func adopt(_ plan: LoginPlan) { self.plan = plan }

  // MARK: Attempts

  /// Begins another attempt.
  ///
  /// - Parameter last: Why the previous attempt failed.
  /// - Throws: `connectTimeout` if no time remains.
  func beginAttempt(after last: Failure?) throws(Failure) {
    let remaining = remaining
    if let remaining, remaining <= 0 {
      let time = FailureDetail.seconds(terms.totalLimit ?? 0)
      throw Failure(
        .connectTimeout, stage: last?.stage ?? .connect,
        detail: last.map { .session(.noLoginAfter, time, FailureDetail.failure($0)) }
          ?? .session(.noLogin, time))
    }
    attempt = LoginAttempt(plan: plan, limit: min(terms.limit, remaining ?? .infinity))
  }

  /// The client is preparing a stream.
  func preparationBegan() {
    pause = nil
    failure = nil
  }

  /// The attempt fails for this reason, which the stream does not know.
  func fail(_ failure: Failure) { self.failure = failure }

  /// Resets the progress of the attempt for another stream.
  func streamBegan() {
    attempt?.isConnecting = false
    attempt?.presented = nil
    attempt?.mechanism = nil
    attempt?.offer = nil
  }

  /// The stream presents these credentials.
  func credentialsResolved(_ credentials: ResolvedCredentials) { attempt?.presented = credentials }

  func connectingBegan() { attempt?.isConnecting = true }

  /// A resource is bound, or the stream has failed.
  func connectingEnded() { attempt?.isConnecting = false }

  func serverOffered(_ offer: AuthenticationOffer?) { attempt?.offer = offer }

  func mechanismBegan(_ mechanism: SASLMechanismName) { attempt?.mechanism = mechanism }

  /// The client repeats the attempt on another stream.
  func repeated(_ remedy: StreamSuccession.Remedy) {
    if remedy == .stepByStep { attempt?.plan.objections = XMPPError.Objection.stated.rawValue }
    if remedy == .fromAnotherAddress, terms.isAutomatic { attempt?.started = .now }
  }

  /// Changes the attempt's plan so that it may succeed at once after `failure`; returns false if no change can help.
  func reconsider(after failure: Failure) -> Bool {
    guard let attempt else { return false }
    return self.attempt?.plan.reconsider(
      after: failure, of: attempt.mechanism, offered: attempt.offered, presented: attempt.presented) == true
  }

  /// The answer of the token command, which the user's command has given beforehand, is used once.
  func tokenAnswerUsed() { plan.tokenAnswer = nil }

  /// The next stream belongs to another attempt.
  func attemptEnded() { attempt = nil }

  /// The client pauses until this time (RFC 3339).
  func paused(until end: String, mayHurry: Bool) { pause = (end, mayHurry) }

  // MARK: The end

  /// No further attempt is made.
  func close() { isOver = true }

  /// Ends the login, and resumes the task that waits for it.
  func end(_ result: Result<LoginMethod.Result, Failure>) {
    guard self.result == nil else { return }
    self.result = result
    waiter?.resume(returning: result)
    waiter = nil
  }

  /// Waits for the end of the login. Only one task may wait.
  func outcome() async -> Result<LoginMethod.Result, Failure> {
    if let result { return result }
    return await withCheckedContinuation { waiter = $0 }
  }
}

/// One attempt to log in, with its credentials and progress. It may take several streams.
struct LoginAttempt {
  fileprivate(set) var plan: LoginPlan
  fileprivate(set) var started = ContinuousClock.now
  /// The time limit in seconds.
  let limit: Double
  /// Whether a stream is opening.
  fileprivate(set) var isConnecting = false
  fileprivate(set) var presented: ResolvedCredentials?
  /// The last mechanism that began.
  fileprivate(set) var mechanism: SASLMechanismName?
  /// The authentication mechanisms that the server offers.
  fileprivate(set) var offer: AuthenticationOffer?

  /// The remaining seconds of the time limit.
  var remaining: Double { max(0.1, limit - (ContinuousClock.now - started) / .seconds(1)) }

  var offered: [SASLMechanismName] { offer?.sasl.mechanisms ?? [] }
}
