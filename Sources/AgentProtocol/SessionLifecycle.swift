/// The life of a session: which state follows which, on what event.
///
/// Pure, and all there is: ``transitions`` is the whole diagram, which `imctl agent states` prints. What is not in it
/// does not happen: a session neither enters nor publishes such a state.
public struct SessionLifecycle: Sendable, Equatable {
  /// What happens to a session.
  public enum Event: String, Codable, Sendable, CaseIterable {
    /// A connection is being made to one of the server's addresses: also beside a running session, for a login with
    /// another secret, and once more where the server wants to be spoken to otherwise.
    case connect
    /// The stream is open, and secure where it is to be.
    case connected
    /// A mechanism begins.
    case authenticate
    /// A resource is bound, or a session resumed.
    case bound
    /// The queries of a new session begin.
    case synchronise
    /// The session is in step with the server: its queries are answered, or it answers on the changed network.
    case synchronised
    /// A login beside the running session is over without success: that one goes on.
    case stayed
    /// The network has changed: the server is asked whether it is still there, or tried again at once.
    case networkChange
    /// The connection has ended without anybody's will.
    case lost
    /// Somebody else ended the session.
    case thrownOut
    /// The server could not be reached, or its stream not be opened.
    case unreachable
    /// The login failed.
    case refused
    /// The next attempt is to come.
    case pause
    /// The user logs out or gives up, or the agent ends.
    case leave
  }

  /// One arrow of the diagram.
  public struct Transition: Hashable, Codable, Sendable {
    public let from: SessionState
    public let event: Event
    public let to: SessionState

    public init(from: SessionState, event: Event, to: SessionState) {
      self.from = from
      self.event = event
      self.to = to
    }
  }

  /// The state now.
  public private(set) var state: SessionState

  public init(_ state: SessionState = .offline) { self.state = state }

  /// Goes on to the state that follows; false, and nothing changes, where the event cannot happen now.
  @discardableResult
  public mutating func handle(_ event: Event) -> Bool {
    guard let next = Self.state(after: event, in: state) else { return false }
    state = next
    return true
  }

  /// The state that follows; nil where the event cannot happen in this one.
  public static func state(after event: Event, in state: SessionState) -> SessionState? {
    origins(of: event).contains(state) ? target(of: event) : nil
  }

  /// The event that leads from one state to another; nil where none does.
  public static func event(from: SessionState, to: SessionState) -> Event? {
    Event.allCases.first { target(of: $0) == to && origins(of: $0).contains(from) }
  }

  /// All there are, in the order of the states.
  public static let transitions: [Transition] = SessionState.allCases.flatMap { from in
    Event.allCases.compactMap { event in
      state(after: event, in: from).map { Transition(from: from, event: event, to: $0) }
    }
  }

  private static func target(of event: Event) -> SessionState {
    switch event {
    case .connect: .linking
    case .connected: .linkOK
    case .authenticate: .logining
    case .bound: .loginOK
    case .synchronise: .syncing
    case .synchronised, .stayed: .syncOK
    case .networkChange: .netChanged
    case .lost: .loseConnection
    case .thrownOut: .kicked
    case .unreachable: .linkFailed
    case .refused: .loginFailed
    case .pause: .waiting
    case .leave: .offline
    }
  }

  private static func origins(of event: Event) -> Set<SessionState> {
    switch event {
    case .connect: Set(SessionState.allCases)
    case .connected: [.linking]
    case .authenticate: [.linkOK]
    case .bound: [.logining]
    case .synchronise: [.loginOK]
    case .synchronised: [.syncing, .netChanged]
    case .stayed: [.linking, .linkOK, .logining, .linkFailed, .loginFailed]
    case .networkChange: online.union([.waiting])
    case .lost, .thrownOut: online
    case .unreachable: resting.union([.linking, .linkOK, .syncOK, .netChanged])
    // A command that gives no secret fails a login before anything was sent.
    case .refused: Set(SessionState.allCases)
    case .pause: resting
    case .leave: Set(SessionState.allCases).subtracting([.offline])
    }
  }

  /// A resource is bound.
  private static let online: Set<SessionState> = [.loginOK, .syncing, .syncOK, .netChanged]
  /// Neither online nor trying to be.
  private static let resting: Set<SessionState> = [
    .offline, .loseConnection, .waiting, .linkFailed, .loginFailed, .kicked,
  ]
}

extension SessionLifecycle {
  /// The diagram in the language of Graphviz.
  public static var dot: String {
    let arrows = transitions.map {
      "  \($0.from.rawValue) -> \($0.to.rawValue) [label=\"\($0.event.rawValue)\"];"
    }
    return
      (["digraph session {", "  rankdir=LR;", "  offline [shape=doublecircle];", "  syncOK [style=bold];"]
      + arrows + ["}"]).joined(separator: "\n")
  }
}
