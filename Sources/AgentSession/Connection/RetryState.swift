import AgentLogin
import AgentProtocol
import XMPPClient

/// Counts the attempts of a session to come back, and decides after each failure whether another attempt follows, and
/// when.
///
/// Pure: the time and the state of the server are arguments.
struct RetryState: Sendable {
  /// The state of a server as far as all accounts of this agent share it.
  struct Server: Sendable, Equatable {
    /// The number of this agent's accounts at the server.
    var accounts = 1
    /// The seconds during which the server must not be contacted; nil: it may be contacted now.
    var closed: Double?
  }

  /// A failed attempt to log in.
  struct Attempt: Sendable {
    var failure: Failure
    /// The user's limit of retries; nil: none.
    var maxRetries: Int?
    /// Whether the attempt counts towards the limit.
    var isCounted = true
    /// Whether a network change may help, as the session was online before.
    var mayHurry = true
  }

  /// What follows on a failure.
  struct Reaction: Sendable, Equatable {
    /// The failure to report: the given one, or `retriesExhausted` if the limit is reached.
    var failure: Failure
    /// ``ConnectionVerdict/never`` if no attempt follows.
    var verdict = ConnectionVerdict.never
    /// Whether the next attempt requests another resource.
    var choosesOtherResource = false

    var comesBack: Bool { verdict != .never }

    /// The seconds until the next attempt; nil if there is none, or if the client decides about its time.
    var seconds: Double? { if case .after(let seconds) = verdict { seconds } else { nil } }
  }

  /// The number of attempts since the session was last online.
  private(set) var attempts = 0
  /// The number of retries that count towards the limit.
  private var retries = 0
  private var kickPolicy = KickPolicy()
  /// When the next attempt is due, as a time of a monotonic clock; nil: at once.
  private var due: Double?

  /// A user logs in, which is independent of earlier failures.
  mutating func loginBegan() {
    synchronised()
    kickPolicy.begin()
  }

  /// A connection to a server begins.
  mutating func attemptBegan() { attempts += 1 }

  /// The session is synchronised with its server.
  mutating func synchronised() {
    attempts = 0
    retries = 0
    due = nil
  }

  /// The agent has started, and many accounts log in at the same time. The first attempt is delayed.
  mutating func agentStarted(
    _ server: Server, at now: Double, using generator: inout some RandomNumberGenerator
  ) {
    due = now + ReconnectPolicy.start(among: server.accounts, using: &generator)
  }

  /// The seconds until the next attempt is due.
  func remaining(at now: Double) -> Double { max(0, due.map { $0 - now } ?? 0) }

  // MARK: Failures

  /// An online session has ended.
  mutating func sessionLost(
    _ failure: Failure, onKick: OnKick, _ server: Server, at now: Double,
    using generator: inout some RandomNumberGenerator
  ) -> Reaction {
    if ReconnectPolicy.ends(failure) { return kicked(failure, onKick: onKick, at: now, using: &generator) }
    if ReconnectPolicy.isGone(failure) { return Reaction(failure: failure) }
    return Reaction(failure: failure, verdict: Self.pause(after: failure, server, mayHurry: true))
  }

  /// An attempt of a session that reconnects by itself has failed.
  ///
  /// - Parameter isCured: Whether the next attempt does not fail for the same reason.
  mutating func automaticAttemptFailed(
    _ attempt: Attempt, isCured: Bool, onKick: OnKick, _ server: Server, at now: Double,
    using generator: inout some RandomNumberGenerator
  ) -> Reaction {
    guard isCured || ReconnectPolicy.comesBack(after: attempt.failure) else {
      return kicked(attempt.failure, onKick: onKick, at: now, using: &generator)
    }
    return retry(attempt, server)
  }

  /// An attempt of a login by a user has failed, and further attempts may follow.
  ///
  /// - Parameter seconds: The remaining seconds of the login's time limit; nil: it has none.
  mutating func userAttemptFailed(
    _ attempt: Attempt, within seconds: Double?, _ server: Server
  ) -> Reaction {
    ReconnectPolicy.triesAgain(after: attempt.failure)
      ? retry(attempt, server, within: seconds) : Reaction(failure: attempt.failure)
  }

  /// Another attempt follows, unless the user's limit is reached.
  private mutating func retry(
    _ attempt: Attempt, _ server: Server, within seconds: Double? = nil
  ) -> Reaction {
    let failure = attempt.failure
    if attempt.isCounted, let limit = attempt.maxRetries {
      guard retries < limit else { return Reaction(failure: exhausted(by: failure)) }
      retries += 1
    }
    return Reaction(
      failure: failure,
      verdict: Self.pause(after: failure, server, mayHurry: attempt.mayHurry, within: seconds))
  }

  private func exhausted(by failure: Failure) -> Failure {
    Failure(
      .retriesExhausted, stage: failure.stage,
      detail: .session(.attempts, retries + 1, failure.name.rawValue),
      condition: failure.condition, text: failure.text)
  }

  private static func pause(
    after failure: Failure, _ server: Server, mayHurry: Bool, within seconds: Double? = nil
  ) -> ConnectionVerdict {
    var terms = PauseTerms()
    terms.accounts = server.accounts
    terms.atLeast = server.closed ?? 0
    if let seconds { terms.atMost = max(0, seconds) }
    terms.mayHurry = mayHurry && server.closed == nil && ReconnectPolicy.mayHurry(after: failure)
    return .afterPause(ReconnectPolicy.cause(of: failure), terms)
  }

  /// The server has ended the session or refused it. After a kick, the user's wish applies.
  private mutating func kicked(
    _ failure: Failure, onKick: OnKick, at now: Double, using generator: inout some RandomNumberGenerator
  ) -> Reaction {
    guard [.kicked, .otherDeviceLogin].contains(failure.name),
      case .comeBack(let seconds, let newResource) = kickPolicy.answer(onKick, at: now, using: &generator)
    else { return Reaction(failure: failure) }
    due = now + seconds
    return Reaction(failure: failure, verdict: .after(seconds: seconds), choosesOtherResource: newResource)
  }
}
