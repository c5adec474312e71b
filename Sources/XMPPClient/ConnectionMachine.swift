import XMPP

/// Keeps one account connected: decides when to connect, give up an attempt, pause, and reconnect.
///
/// Pure: ``XMPPClient`` passes inputs in and carries out the resulting actions. Each stream has a number, which its
/// inputs carry: inputs of a stream that is neither the current attempt nor the session are ignored. At most one
/// session is bound. An attempt to replace it (``Input/replace(after:)``) runs beside it and takes its place when
/// bound.
public struct ConnectionMachine: Sendable {
  /// The state that the program asks for.
  public enum Wish: Sendable, Hashable, CaseIterable {
    case offline, online
    /// Online, but without attempts until the program connects again.
    case held
    /// Offline until the user is back.
    case suspended
  }

  /// The progress of the attempt to get a session.
  public enum Attempt: Sendable, Hashable, CaseIterable {
    case none
    /// The pause before the next attempt is running.
    case waiting
    /// The program is preparing the stream's configuration, including the secret.
    case preparing
    /// The stream is connecting and negotiating.
    case opening
    /// The program is deciding what follows on the failure.
    case deciding
  }

  /// The state of the session.
  public enum Link: Sendable, Hashable, CaseIterable {
    case none
    /// A resource is bound, and the program has not accepted the session yet; its end counts as a failed attempt.
    case beginning
    /// The session is in use.
    case bound
    /// The server was asked for a sign of life after a change of the network.
    case probing
    /// This side has closed the stream, and the server has not yet (RFC 6120 §4.4).
    case closing
  }

  public struct State: Sendable, Hashable {
    public var wish = Wish.offline
    public var attempt = Attempt.none
    public var link = Link.none

    public init() {}
  }

  public enum Input: Sendable {
    /// The program wants a new session in the place of the current one, attempted after this number of seconds.
    case replace(after: Double)
    /// The program wants to be offline.
    case disconnect
    /// The program wants to be offline until ``connect(after:)``.
    case suspend
    /// No attempt is made until ``connect(after:)``, and a running one is given up. A session in use stays.
    case hold
    /// The program wants to be online. The attempt is made after the rest of a pause that ``hold`` interrupted, and at
    /// the earliest after this number of seconds.
    case connect(after: Double)
    /// The stream of the attempt is configured.
    case prepared(Int)
    case bound(Int)
    /// The program has accepted the session.
    case accepted(Int)
    /// The program has refused the session: its attempt has failed.
    case refused(Int, XMPPError)
    /// The stream has ended, or could not be configured; the error is nil if this side has closed it.
    case ended(Int, XMPPError?, leaving: StreamManagement?)
    case decided(Int, ConnectionVerdict)
    /// The pause is over.
    case timer(Int)
    /// The machine's addresses or routes have changed; `gone` has the streams whose local address is gone.
    case networkChanged(gone: Set<Int>)
    /// The server has answered the probe.
    case answered(Int)
  }

  public enum Action: Sendable, Equatable {
    /// Configure the stream with this number, and answer with ``Input/prepared(_:)`` or ``Input/ended(_:_:leaving:)``.
    case prepare(Int, StreamSuccession.Remedy?)
    /// Open the configured stream.
    case open(Int)
    /// Close a stream, or give up an attempt.
    case close(Int)
    /// End a stream whose server is silent.
    case abort(Int)
    case probe(Int)
    /// Ask the program what follows on a failed attempt, or on the loss of a session that was in use. The answer is
    /// ignored if another attempt is under way.
    case decide(Int, after: XMPPError, wasInUse: Bool)
    case startTimer(Int, seconds: Double)
    case stopTimer(Int)
  }

  /// A lost session until the program has decided what follows.
  private struct Loss {
    /// The seconds for which the session was bound.
    var seconds: Double
    /// Whether the next session does not end for the same reason.
    var isCured: Bool
    /// Whether the reason of the loss is known, so that the client reconnects as after a reset by the server.
    var isExpected: Bool
  }

  public private(set) var state = State()
  /// Whether the program wants to be offline and no session is left.
  public var isOffline: Bool { state == State() }
  /// The numbers of the streams of the attempt and of the session.
  public private(set) var attemptNumber = 0
  public private(set) var linkNumber = 0
  /// The data that streams leave for the next one.
  public var succession = StreamSuccession()
  /// Why the next session does not end as the last one did; nil where no cure is known.
  public private(set) var cure: StreamSuccession.Remedy?
  public private(set) var policy: ReconnectPolicy
  private var lastNumber = 0
  /// Whether a session was bound since the program has connected.
  public private(set) var wasOnline = false
  private var boundSince = 0.0
  private var loss: Loss?
  /// The time of the next attempt; nil for at once.
  private var due: Double?
  /// Whether a changed network ends the pause.
  public private(set) var mayHurry = false

  public init(policy: ReconnectPolicy = ReconnectPolicy()) { self.policy = policy }

  /// Changes the state according to an input and returns the resulting actions.
  ///
  /// - Parameter now: the seconds of a monotonic clock.
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

  /// Handles an input with the system's random numbers.
  public mutating func handle(_ input: Input, at now: Double) -> [Action] {
    var generator = SystemRandomNumberGenerator()
    return handle(input, at: now, using: &generator)
  }

  private static let givenUp = XMPPError(.cancelled, stage: .connect, .says(.attemptGivenUp))

  // MARK: Requests of the program

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
    // The decision about a loss is still open.
    let actions = loss == nil ? giveUpAttempt(at: now) : []
    return actions + (state.link == .beginning ? closeLink() : [])
  }

  private mutating func connect(after seconds: Double, at now: Double) -> [Action] {
    if state.wish == .offline { wasOnline = false }
    state.wish = .online
    // The decision about a failed attempt does not matter any more.
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

  /// Closes a stream that is not needed any more.
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
      // Beside a session, only the attempt to replace it has ended.
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
    // The attempt to replace the session continues.
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
    // Answers to what was sent from an address that is gone cannot arrive.
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
