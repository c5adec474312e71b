/// The state machine of a session: the events and the state that follows each.
///
/// Does no I/O. ``transitions`` is the complete diagram, which `imctl agent states` prints: a session neither enters
/// nor publishes a state through any other transition.
public struct SessionLifecycle: Sendable, Equatable {
  /// An event of a session.
  public enum Event: String, Codable, Sendable, CaseIterable {
    /// A connection to one of the server's addresses begins. This may happen during an online session, for a login with
    /// another secret, and again if the server requires another kind of connection.
    case connect
    /// The stream is open, and secured if required.
    case connected
    /// An authentication mechanism begins.
    case authenticate
    /// A resource was bound, or a session resumed.
    case bound
    /// The queries of a new session begin.
    case synchronise
    /// The session is synchronised: its queries were answered, or the server answered on the changed network.
    case synchronised
    /// A login during an online session failed; the session continues.
    case stayed
    /// The network has changed: the server is probed, or the next attempt begins at once.
    case networkChange
    /// The connection was lost.
    case lost
    /// The session was ended by another party.
    case thrownOut
    /// The server could not be reached, or the stream could not be opened.
    case unreachable
    /// The login failed.
    case refused
    /// The session waits for the next attempt.
    case pause
    /// The user logs out or gives up, or the agent ends.
    case leave
  }

  /// One transition of the diagram.
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

  /// The current state.
  public private(set) var state: SessionState

  public init(_ state: SessionState = .offline) { self.state = state }

  /// Enters the state that follows; returns false, without a change, if the event is not possible in this state.
  @discardableResult
  public mutating func handle(_ event: Event) -> Bool {
    guard let next = Self.state(after: event, in: state) else { return false }
    state = next
    return true
  }

  /// The state that follows an event; nil if the event is not possible.
  public static func state(after event: Event, in state: SessionState) -> SessionState? {
    origins(of: event).contains(state) ? target(of: event) : nil
  }

  /// The event that leads from one state to another; nil if there is none.
  public static func event(from: SessionState, to: SessionState) -> Event? {
    Event.allCases.first { target(of: $0) == to && origins(of: $0).contains(from) }
  }

  /// All transitions, in the order of the states.
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
    // A command that prints no secret fails a login before anything is sent.
    case .refused: Set(SessionState.allCases)
    case .pause: resting
    case .leave: Set(SessionState.allCases).subtracting([.offline])
    }
  }

  /// The states in which a resource is bound.
  private static let online: Set<SessionState> = [.loginOK, .syncing, .syncOK, .netChanged]
  /// The states in which the session is neither online nor connecting.
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
