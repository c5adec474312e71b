import AgentLogin
import AgentProtocol
import XMPP
import XMPPSASL

/// A login that is on its way, with all its attempts, until it succeeds or is over.
final class PendingLogin {
  /// How its attempts are made.
  struct Terms: Sendable {
    /// Nobody waits for it: the session comes back.
    var isAutomatic = false
    /// Goes on after what may be a passing fault.
    var isPersistent = false
    /// A fresh secret is asked for where the stored one is refused.
    var renewsSecret = false
    /// Bound in seconds of each attempt.
    var limit = 30.0
    /// Bound in seconds of all attempts together.
    var totalLimit: Double?
    /// Over as soon as a resource is bound.
    var noSync = false
    /// Reports what goes over the wire.
    var wire = false
    /// Presence to show from now on.
    var presence: PresenceShow?
  }

  let terms: Terms
  /// What the next attempt is made with.
  var plan: LoginPlan
  /// The present attempt; nil before there is one.
  var attempt: LoginAttempt?
  /// The pause before the next attempt: when it ends (RFC 3339), and whether a changed network may end it before.
  var pause: (end: String, mayHurry: Bool)?
  /// Why the attempt has failed, where it is not the stream that tells of that.
  var failure: Failure?
  private let began = ContinuousClock.now
  private var result: Result<LoginMethod.Result, Failure>?
  private var waiter: CheckedContinuation<Result<LoginMethod.Result, Failure>, Never>?

  init(_ plan: LoginPlan, _ terms: Terms) {
    self.plan = plan
    self.terms = terms
  }

  /// A stream is being opened that has led to no session yet: one that runs goes on beside it.
  var isConnecting: Bool { attempt?.isConnecting == true }

  /// Seconds that are left of the bound of all attempts; nil: there is none.
  var remaining: Double? {
    terms.totalLimit.map { $0 - (ContinuousClock.now - began) / .seconds(1) }
  }

  /// Begins another attempt.
  ///
  /// - Parameter last: why the one before has failed.
  /// - Throws: `connectTimeout` when the time is over.
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

  /// Whoever waits for it is told.
  func end(_ result: Result<LoginMethod.Result, Failure>) {
    guard self.result == nil else { return }
    self.result = result
    waiter?.resume(returning: result)
    waiter = nil
  }

  /// Waits for its end; one may do so.
  func outcome() async -> Result<LoginMethod.Result, Failure> {
    if let result { return result }
    return await withCheckedContinuation { waiter = $0 }
  }
}

/// One attempt to log in: what it presents, and how far it has come. It may take several streams.
struct LoginAttempt {
  var plan: LoginPlan
  var started = ContinuousClock.now
  /// Bound in seconds.
  let limit: Double
  /// A stream is being opened that has led to no session yet.
  var isConnecting = false
  var presented: ResolvedCredentials?
  /// The last mechanism that was begun.
  var mechanism: SASLMechanismName?
  /// What the server offers to log in with.
  var offer: AuthenticationOffer?

  /// Seconds that are left of the bound.
  var remaining: Double { max(0.1, limit - (ContinuousClock.now - started) / .seconds(1)) }

  var offered: [SASLMechanismName] { offer?.sasl.mechanisms ?? [] }

  /// Another stream is about to be opened.
  mutating func beginStream() {
    isConnecting = false
    presented = nil
    mechanism = nil
    offer = nil
  }
}
