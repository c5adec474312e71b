import XMPP

/// Keeps one account connected: decides when to connect, to give up an attempt, to pause, and to come back.
///
/// Pure: inputs go in, actions come out, and ``XMPPClient`` carries these out. A stream has a number, which its inputs
/// carry: what comes from a stream that is neither the attempt nor the session any more changes nothing. At most one
/// session is bound. An attempt to replace it (``Input/replace(after:)``) runs beside it and takes its place when it is
/// bound.
public struct ConnectionMachine: Sendable {
  /// What the program wants.
  public enum Wish: Sendable, Hashable, CaseIterable {
    case offline, online
    /// Online, and no attempt is made until the program lets the client go on.
    case held
    /// Online again when the user is back.
    case suspended
  }

  /// How far the attempt to get a session has come.
  public enum Attempt: Sendable, Hashable, CaseIterable {
    case none
    /// The pause before the next attempt runs.
    case waiting
    /// The program is asked how to configure the stream, which includes the secret.
    case preparing
    /// The stream connects and negotiates.
    case opening
    /// The program is asked what follows on the failure.
    case deciding
  }

  /// What there is of a session.
  public enum Link: Sendable, Hashable, CaseIterable {
    case none
    /// A resource is bound, and the program has not accepted the session yet: its end is that of an attempt.
    case beginning
    /// The session is in use.
    case bound
    /// The network has changed: the server is asked whether it is still there.
    case probing
    /// This side has closed the stream, and the server has not agreed yet (RFC 6120 §4.4).
    case closing
  }

  public struct State: Sendable, Hashable {
    public var wish = Wish.offline
    public var attempt = Attempt.none
    public var link = Link.none

    public init() {}
  }

  public enum Input: Sendable {
    /// The program wants a new session in the place of the one that it has, and the attempt after so many seconds.
    case replace(after: Double)
    /// The program wants to be offline.
    case disconnect
    /// The program wants to be offline until ``connect(after:)``.
    case suspend
    /// No attempt is made until ``connect(after:)``, and one that is on its way is given up. A session in use stays.
    case hold
    /// The program wants to be online. The attempt is made when what is left of a pause is over that ``hold`` has broken off,
    /// and not before so many seconds.
    case connect(after: Double)
    /// The stream of the attempt is configured.
    case prepared(Int)
    case bound(Int)
    /// The session is in use from now on.
    case accepted(Int)
    /// The session is not to be used: its attempt has failed.
    case refused(Int, XMPPError)
    /// The stream has ended, or could not be configured; nil: this side has closed it.
    case ended(Int, XMPPError?, leaving: StreamManagement?)
    case decided(Int, ConnectionVerdict)
    /// The pause is over.
    case timer(Int)
    /// An address or a route of this machine has changed; the streams whose address is gone.
    case networkChanged(gone: Set<Int>)
    /// The server has answered the probe.
    case answered(Int)
  }

  public enum Action: Sendable, Equatable {
    /// Configures a stream of this number, and answers with ``Input/prepared(_:)`` or ``Input/ended(_:_:leaving:)``.
    case prepare(Int, StreamSuccession.Remedy?)
    /// Opens the stream that was configured.
    case open(Int)
    /// Closes a stream, or gives up an attempt.
    case close(Int)
    /// Ends a stream whose server is silent.
    case abort(Int)
    case probe(Int)
    /// Asks what follows on the failure of an attempt, or on the loss of a session that was in use. The answer does not
    /// matter where another attempt is on its way.
    case decide(Int, after: XMPPError, wasInUse: Bool)
    case startTimer(Int, seconds: Double)
    case stopTimer(Int)
  }

  /// A session that was lost, until it is decided what follows.
  private struct Loss {
    /// Seconds for which it was bound.
    var seconds: Double
    /// The next one does not end for the same reason.
    var isCured: Bool
    /// The link is known to be gone, and why: nothing is to be waited for.
    var isExpected: Bool
  }

  public private(set) var state = State()
  /// Nothing is wanted, and nothing is left of a session.
  public var isOffline: Bool { state == State() }
  /// The streams of the attempt and of the session.
  public private(set) var attemptNumber = 0
  public private(set) var linkNumber = 0
  /// What the streams leave for the next one.
  public var succession = StreamSuccession()
  /// Why the next session does not end as the last one did; nil where nothing is known of that.
  public private(set) var cure: StreamSuccession.Remedy?
  public private(set) var policy: ReconnectPolicy
  private var lastNumber = 0
  /// A session was bound since the program has connected.
  public private(set) var wasOnline = false
  private var boundSince = 0.0
  private var loss: Loss?
  /// When the next attempt is due; nil: at once.
  private var due: Double?
  /// Whether a changed network ends the pause.
  public private(set) var mayHurry = false

  public init(policy: ReconnectPolicy = ReconnectPolicy()) { self.policy = policy }

  /// The state that follows on an input, and what is to be done.
  ///
  /// - Parameter now: seconds of a clock that is never set back.
  public mutating func handle(
    _ input: Input, at now: Double, using generator: inout some RandomNumberGenerator
  ) -> [Action] {
    switch input {
    case .replace(let seconds): return replace(after: seconds, at: now)
    case .disconnect: return leave(for: .offline, at: now)
    case .suspend: return [.online, .held].contains(state.wish) ? leave(for: .suspended, at: now) : []
    case .hold: return hold(at: now)
    case .connect(let seconds): return connect(after: seconds, at: now)
    case .prepared(let number):
      guard state.attempt == .preparing, number == attemptNumber else { return giveUp(number) }
      state.attempt = .opening
      return [.open(number)]
    case .bound(let number): return bound(number, at: now)
    case .accepted(let number):
      if state.link == .beginning, number == linkNumber { state.link = .bound }
      return []
    case .refused(let number, let error): return refused(number, error)
    case .ended(let number, let error, let management):
      if number == attemptNumber, [.preparing, .opening].contains(state.attempt) {
        return failed(error ?? Self.givenUp, at: now)
      }
      guard number == linkNumber, state.link != .none else { return [] }
      return lost(error, leaving: management, at: now)
    case .decided(let number, let verdict):
      guard state.attempt == .deciding, number == attemptNumber else { return [] }
      return follow(verdict, at: now, using: &generator)
    case .timer(let number):
      guard state.attempt == .waiting, number == attemptNumber else { return [] }
      return begin()
    case .networkChanged(let gone): return networkChanged(gone, at: now)
    case .answered(let number):
      if state.link == .probing, number == linkNumber { state.link = .bound }
      return []
    }
  }

  /// The same with the system's random numbers.
  public mutating func handle(_ input: Input, at now: Double) -> [Action] {
    var generator = SystemRandomNumberGenerator()
    return handle(input, at: now, using: &generator)
  }

  private static let givenUp = XMPPError(.cancelled, stage: .connect, .says(.attemptGivenUp))

  // MARK: What the program wants

  private mutating func replace(after seconds: Double, at now: Double) -> [Action] {
    state.wish = .online
    policy.restart()
    mayHurry = false
    return giveUpAttempt(at: now) + wait(seconds, at: now)
  }

  private mutating func leave(for wish: Wish, at now: Double) -> [Action] {
    let wasOffline = state.wish == .offline
    state.wish = wish
    due = nil
    let actions = giveUpAttempt(at: now)
    if state.link == .none, wish == .offline, !wasOffline { succession.forget() }
    return actions + (hasNoSession ? [] : closeLink())
  }

  private mutating func hold(at now: Double) -> [Action] {
    if state.wish == .online { state.wish = .held }
    // What follows on a loss is still to be learnt.
    let actions = loss == nil ? giveUpAttempt(at: now) : []
    return actions + (state.link == .beginning ? closeLink() : [])
  }

  private mutating func connect(after seconds: Double, at now: Double) -> [Action] {
    if state.wish == .offline { wasOnline = false }
    state.wish = .online
    // What would follow on the failure of an attempt does not matter any more.
    let isFree = state.attempt == .none || state.attempt == .deciding && loss == nil
    guard hasNoSession, isFree else { return [] }
    let left = max(0, due.map { $0 - now } ?? 0)
    if seconds > left { mayHurry = false }
    return giveUpAttempt(at: now) + wait(max(seconds, left), at: now)
  }

  private var hasNoSession: Bool { [.none, .closing].contains(state.link) }

  private mutating func closeLink() -> [Action] {
    state.link = .closing
    return [.close(linkNumber)]
  }

  // MARK: Attempts

  private mutating func begin(_ remedy: StreamSuccession.Remedy? = nil) -> [Action] {
    lastNumber += 1
    attemptNumber = lastNumber
    state.attempt = .preparing
    due = nil
    return [.prepare(attemptNumber, remedy)]
  }

  private mutating func wait(_ seconds: Double, at now: Double) -> [Action] {
    guard seconds > 0 else { return begin() }
    lastNumber += 1
    attemptNumber = lastNumber
    state.attempt = .waiting
    due = now + seconds
    return [.startTimer(attemptNumber, seconds: seconds)]
  }

  private mutating func giveUpAttempt(at now: Double) -> [Action] {
    let attempt = state.attempt
    state.attempt = .none
    loss = nil
    switch attempt {
    case .none: return []
    case .waiting: return [.stopTimer(attemptNumber)]
    case .preparing, .deciding: return [.close(attemptNumber)]
    case .opening:
      _ = succession.failed(Self.givenUp, at: now)
      return [.close(attemptNumber)]
    }
  }

  /// A stream that nobody wants any more is closed.
  private func giveUp(_ number: Int) -> [Action] {
    let isWanted =
      number == linkNumber && state.link != .none || number == attemptNumber && state.attempt == .opening
    return isWanted ? [] : [.close(number)]
  }

  private mutating func bound(_ number: Int, at now: Double) -> [Action] {
    guard state.attempt == .opening, number == attemptNumber else { return giveUp(number) }
    let replaced: [Action] = state.link == .none ? [] : [.close(linkNumber)]
    state.attempt = .none
    state.link = .beginning
    linkNumber = number
    boundSince = now
    wasOnline = true
    succession.bound()
    return replaced
  }

  private mutating func refused(_ number: Int, _ error: XMPPError) -> [Action] {
    guard state.link == .beginning, number == linkNumber else { return [] }
    return closeLink() + (state.attempt == .none ? decide(after: error) : [])
  }

  private mutating func failed(_ error: XMPPError, at now: Double) -> [Action] {
    if let remedy = succession.failed(error, at: now) { return begin(remedy) }
    return decide(after: error)
  }

  private mutating func decide(after error: XMPPError, wasInUse: Bool = false) -> [Action] {
    lastNumber += 1
    attemptNumber = lastNumber
    state.attempt = .deciding
    return [.decide(attemptNumber, after: error, wasInUse: wasInUse)]
  }

  private mutating func follow(
    _ verdict: ConnectionVerdict, at now: Double, using generator: inout some RandomNumberGenerator
  ) -> [Action] {
    let loss = loss
    self.loss = nil
    state.attempt = .none
    let seconds: Double
    switch verdict {
    case .atOnce: seconds = 0
    case .never:
      // Beside a session only the attempt to replace it is over.
      if hasNoSession { state.wish = .offline }
      return []
    case .after(let pause):
      mayHurry = false
      seconds = pause
    case .afterPause(let cause, let terms):
      mayHurry = terms.mayHurry && [.link, .server].contains(cause)
      if let loss {
        policy.lost(after: loss.seconds, cause)
        if loss.isCured { policy.restart() }
      }
      let pause = policy.pause(
        after: loss?.isExpected == true ? .reset : cause, among: terms.accounts, using: &generator)
      seconds = min(max(pause, terms.atLeast), terms.atMost)
    }
    guard state.wish == .online else {
      due = now + seconds
      return []
    }
    return wait(seconds, at: now)
  }

  // MARK: The session

  private mutating func lost(
    _ error: XMPPError?, leaving management: StreamManagement?, at now: Double
  ) -> [Action] {
    let link = state.link
    state.link = .none
    cure = nil
    if link == .closing {
      succession.forget()
      return []
    }
    cure = succession.lost(error, isNew: link == .beginning, at: now)
    succession.leave(management, at: now)
    if link == .beginning {
      guard state.attempt == .none else { return [] }
      return cure.map { begin($0) } ?? decide(after: error ?? Self.givenUp)
    }
    // An attempt to replace the session goes on.
    guard state.attempt == .none else {
      return [.decide(linkNumber, after: error ?? Self.givenUp, wasInUse: true)]
    }
    let isCured = cure != nil && cure != .afterOwnAttempt
    loss = Loss(seconds: now - boundSince, isCured: isCured, isExpected: isCured || link == .probing)
    return decide(after: error ?? Self.givenUp, wasInUse: true)
  }

  private mutating func networkChanged(_ gone: Set<Int>, at now: Double) -> [Action] {
    var actions: [Action] = []
    switch state.attempt {
    case .waiting where mayHurry:
      policy.restart()
      actions = giveUpAttempt(at: now) + begin()
    // Nobody ever answers what was sent from an address that this machine has no more.
    case .opening where gone.contains(attemptNumber):
      actions = giveUpAttempt(at: now) + begin(.fromAnotherAddress)
    case .none, .waiting, .preparing, .opening, .deciding: break
    }
    switch state.link {
    case .bound:
      state.link = .probing
      actions.append(.probe(linkNumber))
    case .beginning, .probing: if gone.contains(linkNumber) { actions.append(.abort(linkNumber)) }
    case .none, .closing: break
    }
    return actions
  }
}
