import XMPP

/// Keeps one account connected: decides when to connect, to give up an attempt, to pause, and to come back.
///
/// Pure: inputs go in, actions come out, and ``XMPPClient`` carries these out. A stream has a number, which its inputs
/// carry: what comes from a stream that is neither the attempt nor the session any more changes nothing. At most one
/// session is bound. An attempt to replace it (``Input/replace``) runs beside it and takes its place when it is bound.
public struct ConnectionMachine: Sendable {
  /// What the program wants.
  public enum Wish: Sendable, Hashable, CaseIterable {
    case offline, online
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
    /// A resource is bound.
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
    /// The program wants to be online; a pause ends at once.
    case connect
    /// The program wants a new session in the place of the one that it has.
    case replace
    /// The program wants to be offline.
    case disconnect
    /// The program wants to be offline until ``wake``.
    case suspend
    case wake
    /// The stream of the attempt is configured.
    case prepared(Int)
    case bound(Int)
    /// The stream has ended, or could not be configured; nil: this side has closed it.
    case ended(Int, XMPPError?, leaving: StreamManagement?)
    case decided(Int, ConnectionVerdict)
    /// The pause is over.
    case timer(Int)
    /// An address or a route of this machine has changed.
    case networkChanged(isAddressGone: Bool)
    /// Whether the server has answered the probe.
    case probed(Int, isAlive: Bool)
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
    /// Asks what follows on the failure of an attempt, or on the loss of a session.
    case decide(Int, after: XMPPError, wasBound: Bool)
    case startTimer(Int, seconds: Double)
    case stopTimer(Int)
  }

  public private(set) var state = State()
  /// Nothing is wanted, and nothing is left of a session.
  public var isOffline: Bool { state == State() }
  /// The streams of the attempt and of the session.
  public private(set) var attemptNumber = 0
  public private(set) var linkNumber = 0
  /// What the streams leave for the next one.
  public var succession = StreamSuccession()
  public private(set) var policy: ReconnectPolicy
  /// Accounts at the same server, which come back spread over time.
  public var accountsAtServer = 1
  private var lastNumber = 0
  /// A session was bound since the program has connected.
  public private(set) var wasOnline = false
  private var boundSince = 0.0
  /// Seconds for which the session was bound whose loss is being decided about.
  private var lostAfter: Double?
  /// Whether a changed network ends the pause.
  private var mayHurry = false
  /// The next session does not end for the reason of the last one.
  private var isCured = false

  public init(policy: ReconnectPolicy = ReconnectPolicy()) { self.policy = policy }

  /// The state that follows on an input, and what is to be done.
  ///
  /// - Parameter now: seconds of a clock that is never set back.
  public mutating func handle(
    _ input: Input, at now: Double, using generator: inout some RandomNumberGenerator
  ) -> [Action] {
    switch input {
    case .connect: return connect(at: now)
    case .replace: return replace(at: now)
    case .disconnect: return leave(for: .offline, at: now)
    case .suspend: return state.wish == .online ? leave(for: .suspended, at: now) : []
    case .wake:
      guard state.wish == .suspended else { return [] }
      return connect(at: now)
    case .prepared(let number):
      guard state.attempt == .preparing, number == attemptNumber else { return giveUp(number) }
      state.attempt = .opening
      return [.open(number)]
    case .bound(let number): return bound(number, at: now)
    case .ended(let number, let error, let management):
      if number == attemptNumber, [.preparing, .opening].contains(state.attempt) {
        return failed(error ?? Self.givenUp, at: now)
      }
      if number == linkNumber, state.link != .none { return lost(error, leaving: management, at: now) }
      return []
    case .decided(let number, let verdict):
      guard state.attempt == .deciding, number == attemptNumber else { return [] }
      return follow(verdict, using: &generator)
    case .timer(let number):
      guard state.attempt == .waiting, number == attemptNumber else { return [] }
      return begin()
    case .networkChanged(let isAddressGone):
      return networkChanged(isAddressGone: isAddressGone, at: now)
    case .probed(let number, let isAlive):
      guard state.link == .probing, number == linkNumber else { return [] }
      state.link = .bound
      return isAlive ? [] : [.abort(number)]
    }
  }

  /// The same with the system's random numbers.
  public mutating func handle(_ input: Input, at now: Double) -> [Action] {
    var generator = SystemRandomNumberGenerator()
    return handle(input, at: now, using: &generator)
  }

  private static let givenUp = XMPPError(.cancelled, stage: .connect, .says(.attemptGivenUp))

  // MARK: What the program wants

  private mutating func connect(at now: Double) -> [Action] {
    if state.wish == .offline { wasOnline = false }
    state.wish = .online
    guard state.link == .none, [.none, .waiting].contains(state.attempt) else { return [] }
    policy.begin()
    return giveUpAttempt(at: now) + begin()
  }

  private mutating func replace(at now: Double) -> [Action] {
    state.wish = .online
    policy.begin()
    return giveUpAttempt(at: now) + (state.link == .closing ? [] : begin())
  }

  private mutating func leave(for wish: Wish, at now: Double) -> [Action] {
    state.wish = wish
    let actions = giveUpAttempt(at: now)
    guard [.bound, .probing].contains(state.link) else { return actions }
    state.link = .closing
    return actions + [.close(linkNumber)]
  }

  // MARK: Attempts

  private mutating func begin(_ remedy: StreamSuccession.Remedy? = nil) -> [Action] {
    lastNumber += 1
    attemptNumber = lastNumber
    state.attempt = .preparing
    return [.prepare(attemptNumber, remedy)]
  }

  private mutating func giveUpAttempt(at now: Double) -> [Action] {
    defer { state.attempt = .none }
    switch state.attempt {
    case .none, .deciding: return []
    case .waiting: return [.stopTimer(attemptNumber)]
    case .preparing: return [.close(attemptNumber)]
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
    state.link = .bound
    linkNumber = number
    boundSince = now
    wasOnline = true
    isCured = false
    succession.bound()
    policy.succeeded()
    return replaced
  }

  private mutating func failed(_ error: XMPPError, at now: Double) -> [Action] {
    if let remedy = succession.failed(error, at: now) { return begin(remedy) }
    return decide(after: error, wasBound: false)
  }

  private mutating func decide(after error: XMPPError, wasBound: Bool) -> [Action] {
    lastNumber += 1
    attemptNumber = lastNumber
    state.attempt = .deciding
    return [.decide(attemptNumber, after: error, wasBound: wasBound)]
  }

  private mutating func follow(
    _ verdict: ConnectionVerdict, using generator: inout some RandomNumberGenerator
  ) -> [Action] {
    defer { lostAfter = nil }
    switch verdict {
    case .atOnce: return begin()
    case .never:
      state.attempt = .none
      // Beside a session only the attempt to replace it is over.
      if state.link == .none { state.wish = .offline }
      return []
    case .after(let seconds):
      mayHurry = false
      return wait(seconds)
    case .afterPause(let cause):
      mayHurry = [.link, .server].contains(cause)
      if let lostAfter {
        policy.lost(after: lostAfter, cause)
        if isCured { policy.restart() }
      }
      return wait(
        policy.pause(after: isCured ? .reset : cause, among: accountsAtServer, using: &generator))
    }
  }

  private mutating func wait(_ seconds: Double) -> [Action] {
    state.attempt = .waiting
    return [.startTimer(attemptNumber, seconds: max(0, seconds))]
  }

  // MARK: The session

  private mutating func lost(
    _ error: XMPPError?, leaving management: StreamManagement?, at now: Double
  ) -> [Action] {
    let wasClosing = state.link == .closing
    state.link = .none
    if wasClosing {
      succession.forget()
      return state.wish == .online && state.attempt == .none ? begin() : []
    }
    isCured = succession.lost(error, at: now) != nil
    succession.leave(management, at: now)
    // An attempt to replace the session goes on.
    guard state.attempt == .none else { return [] }
    lostAfter = now - boundSince
    return decide(after: error ?? Self.givenUp, wasBound: true)
  }

  private mutating func networkChanged(isAddressGone: Bool, at now: Double) -> [Action] {
    var actions: [Action] = []
    switch state.attempt {
    case .waiting where mayHurry:
      policy.restart()
      actions = giveUpAttempt(at: now) + begin()
    // Nobody ever answers what was sent from an address that this machine has no more.
    case .opening where isAddressGone: actions = giveUpAttempt(at: now) + begin(.fromAnotherAddress)
    case .none, .waiting, .preparing, .opening, .deciding: break
    }
    if state.link == .bound {
      state.link = .probing
      actions.append(.probe(linkNumber))
    }
    return actions
  }
}
