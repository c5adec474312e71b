import AgentLogin
import AgentProtocol
import AgentStore
import XMPP
import XMPPClient
import XMPPStanza

/// One account's life in the agent: its client, what the user wants of it, and what its parts make of it.
///
/// Every change of state is published. Logins and logouts take turns. Between the turns the client keeps the session
/// online with ``activePlan``, the plan of the last login that succeeded; a turn begins by giving up such an attempt, and
/// ends by letting the client go on. A login with a new secret proves the secret on a stream of its own before it replaces
/// a running session.
package actor Session {
  let context: SessionContext
  let turns = Turns()
  let published: PublishedState
  let reconnection: Reconnection
  private(set) lazy var client = XMPPClient(clientConfiguration)
  /// The login that is on its way, by hand or by itself.
  var login: PendingLogin?
  /// The session that is bound.
  var online: OnlineSession?
  // The parts of the session: they are isolated to it, and each owns what it knows.
  private(set) lazy var features = AccountFeatures(of: self, context)
  package private(set) lazy var presence = OwnPresence(of: self, context)
  package private(set) lazy var contacts = Contacts(of: self, context, presence, features)
  package private(set) lazy var devices = AccountDevices(of: self, context, presence, features)
  package private(set) lazy var conversations = Conversations(of: self, context, features)
  package private(set) lazy var messages = Messages(
    of: self, context, presence, contacts, conversations, features)
  package private(set) lazy var serverQueries = ServerQueries(of: self, context)
  package var push: PushServices {
    PushServices(context: context, features: features, stream: online?.stream)
  }

  /// - Parameter account: the bare JID.
  package init(of account: JID, _ resources: SessionResources) {
    context = SessionContext(account: account, resources: resources)
    published = PublishedState(context)
    reconnection = Reconnection(context)
  }

  /// What the session keeps itself online with; nil where nobody wants it online.
  var activePlan: LoginPlan? {
    get { reconnection.activePlan }
    set { reconnection.activePlan = newValue }
  }

  /// Why it is not online.
  var lastFailure: Failure? { reconnection.lastFailure }

  /// Why it is not kept online any more, where nobody has logged out.
  var end: Reconnection.End? { reconnection.end }

  /// The failure that ended the session for good, and its time by the clock's `uptime`; nil while the session is kept
  /// online and after a logout.
  package var endForGood: (failure: Failure, time: Double)? { end.map { ($0.failure, $0.time) } }

  /// What the session does while the user looks away; nil: the user is there.
  package var idle: IdleMode? { reconnection.idle }

  var boundStream: XMPPStream? { online?.stream.stream }

  package var isOnline: Bool { online != nil }

  /// The session is online, or trying to be.
  package var isActive: Bool { online != nil || login != nil }

  /// Something is done for this account: the agent must not end.
  package var isBusy: Bool { isActive || turns.isTaken || published.writes > 0 || activePlan != nil }

  /// The agent does not end while `body` leaves something in the store.
  func writing<Problem: Error>(
    _ body: () async throws(Problem) -> Void
  ) async throws(Problem) {
    beginWriting()
    defer { endWriting() }
    try await body()
  }

  func beginWriting() { published.beginWriting() }

  func endWriting() { published.endWriting() }

  /// The id by which the account's other devices know this one.
  var deviceID: String? { (online?.plan ?? activePlan)?.deviceId }

  // MARK: Turns

  /// Runs `body` when no other login or logout of this account runs, and no automatic attempt.
  func inTurn<Value: Sendable>(
    _ body: (isolated Session) async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    await turns.begin()
    published.activityChanged()
    await holdReconnection()
    do throws(Failure) {
      let value = try await body(self)
      await endTurn()
      return value
    } catch {
      await endTurn()
      throw error
    }
  }

  private func endTurn() async {
    if !turns.isAwaited { await releaseReconnection() }
    turns.end()
    published.activityChanged()
  }

  // MARK: States

  /// Goes on to a state and publishes that.
  func enter(
    _ state: SessionState, cause: Failure? = nil, _ change: (inout StateChange) -> Void = { _ in }
  ) {
    if published.mayEnter(state), [.loginOK, .syncing, .syncOK, .netChanged].contains(state) {
      online?.enter(state)
    }
    published.enter(state, cause: cause, fullJID: online?.bound.jid.description, change)
  }

  /// The running session goes on to a state. While a login is made beside it, that is what is told of.
  func advance(_ state: SessionState, _ change: (inout StateChange) -> Void = { _ in }) {
    if login?.isConnecting != true, published.mayEnter(state) {
      enter(state, cause: nil, change)
    } else {
      online?.enter(state)
    }
  }

  /// Somebody else, or the server's answer to an attempt, decided that the session is over.
  func over(_ failure: Failure) {
    reconnection.over(failure)
    published.activityChanged()
  }

  package func currentStatus() async -> SessionStatus {
    // Asked of the stream first: what follows is of one moment.
    let idleTime = await boundStream?.idleTime
    var status = published.status
    status.presence = presence.status
    status.idle = idle
    status.uncertain = messages.recovery.uncertain
    status.refused = context.refusals.counts
    status.lastSeen = published.lastSeen
    status.nextRetry = login?.pause?.end
    guard let online else {
      // Its stream has just ended, and nobody was told yet.
      if let state = published.stateToTell, status.isOnline || status.state == .netChanged {
        status.state = state
      }
      // On its way to come back it is still for this that it is not online.
      if status.state != .offline { status.cause = status.cause ?? lastFailure }
      status.attempt = reconnection.attempts > 0 && isActive ? reconnection.attempts : nil
      return status
    }
    if let idleTime { status.lastSeen = timestamp(-Double(idleTime.nanoseconds) / 1e9) }
    status.state = online.state
    status.since = online.since
    status.cause = nil
    status.fullJID = online.bound.jid.description
    status.server = SessionStatus.Server(online.bound)
    status.resumable = online.isResumable
    return status
  }
}

extension SessionStatus.Server {
  init(_ bound: BoundStream) {
    self.init()
    host = bound.target.host
    port = bound.target.port
    tls = bound.tls.map(TLSSummary.init)
    mechanism = bound.mechanism.rawValue
    roundTrips = bound.roundTrips
  }
}
