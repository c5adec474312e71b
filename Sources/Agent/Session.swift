import AgentLogin
import AgentProtocol
import AgentStore
import FoundationEssentials
import Logging
import NIOCore
import XMPP
import XMPPClient
import XMPPFeatures
import XMPPSASL
import XMPPStanza
import XMPPTransport
import XMPPXML

/// One account's life in the agent: its stream, what the user wants of it, and the attempts to get it back.
///
/// Every change of state is published. Logins and logouts take turns. Between the turns the session keeps itself
/// online with ``kept``, the plan of the last login that succeeded; a turn begins by ending such an attempt, and ends
/// by letting it go on. At most one stream is bound at a time: a login with a new secret proves the secret on a
/// stream of its own before it replaces a running one.
actor Session {
  let context: SessionContext
  /// Told when ``isBusy`` may have changed.
  private let activity: @Sendable () -> Void

  var status: SessionStatus
  /// The bound stream.
  var online: Online?
  /// What the session is since its stream has ended; nil where others were told.
  var stateToTell: SessionState?
  /// The stream that is being opened.
  var opening: Opening?
  /// How many streams were opened.
  var openings = 0
  /// What the session keeps itself online with; nil where nobody wants it online.
  var kept: LoginPlan?
  /// What the streams of the account leave for the next one.
  var succession = StreamSuccession()
  // The parts of the session: they are isolated to it, and each owns what it knows.
  private(set) lazy var features = AccountFeatures(of: self, context)
  private(set) lazy var presence = OwnPresence(of: self, context)
  let clientState = ClientStateIndication()
  private(set) lazy var contacts = Contacts(of: self, context, presence, features)
  private(set) lazy var devices = AccountDevices(of: self, context, presence, features)
  private(set) lazy var conversations = Conversations(of: self, context, features)
  private(set) lazy var messages = Messages(of: self, context, presence, contacts, conversations, features)
  private(set) lazy var serverQueries = ServerQueries(of: self, context)
  var push: PushServices { PushServices(context: context, features: features) }
  /// Why it is not online.
  var lastFailure: Failure?
  /// Why it is not kept online any more, where nobody has logged out.
  var end: End?
  /// When the next attempt is due, by the clock's `uptime`; nil: at once.
  var due: Double?
  /// Keeps trying to come back.
  var trying: Task<Void, Never>?
  var reconnectPolicy: ReconnectPolicy
  var kickPolicy = KickPolicy()
  let pace: ServerPace
  var attempt = 0
  /// The agent is about to end: nothing is opened any more.
  var isEnding = false
  /// The pause between two attempts, and whether it was ended so that the next one begins.
  var pausing: Task<Void, any Error>?
  var isHurried = false
  /// RFC 3339: since when it is online, resumptions included, and when the server was last heard of.
  var onlineSince: String?
  var lastSeen: String?
  /// Writes to the store that are not done yet.
  private var writes = 0
  /// What the last attempt has presented, and how far it came.
  var tried = Tried()
  /// What the session does while the user looks away; nil: the user is there.
  var idle: IdleMode?
  /// Logouts that wait for their turn: who tries to log in gives up.
  var leaving = 0
  private var isTurnTaken = false
  private var turns: [CheckedContinuation<Void, Never>] = []
  private var isDataReadyTold = false

  /// On the heap, as all that a session keeps of a stream: who only looks at it would have a copy of it all in the
  /// memory of its task.
  final class Online {
    let stream: BoundSession
    let opening: Opening
    var bound: BoundStream { stream.bound }
    var plan: LoginPlan
    /// `loginOK`, `syncing` or `syncOK`, and since when: whatever another login is doing meanwhile.
    var state = SessionState.loginOK
    var since = Timestamp.now()
    /// When it was bound, by the clock's `uptime`.
    var began = 0.0
    /// The account is being deleted: the server ends the stream.
    var isAccountEnding = false
    /// When that was, as others are told.
    var lastLogin: String?
    /// What is kept of the secret, where it is less than was asked for.
    var shortfall: StorePolicy?
    /// The server was not given the login extension.
    var leavesOutExtension = false
    /// The server keeps the session for a while when the connection breaks.
    var isResumable = false
    /// What it brings into step with the server.
    let beginning: SessionBeginning

    init(_ beginning: SessionBeginning, _ opening: Opening, _ plan: LoginPlan) {
      self.beginning = beginning
      stream = beginning.stream
      self.opening = opening
      self.plan = plan
    }
  }

  struct End: Sendable {
    var failure: Failure
    /// By the clock's `uptime`.
    var time: Double
  }

  final class Opening {
    /// Counts the streams of the session.
    let number: Int
    let stream: XMPPStream
    let plan: LoginPlan
    let attempt: Attempt
    /// The session that it has led to.
    var session: BoundSession?
    /// What addresses this machine had when it began.
    let addresses = LocalAddresses.now()
    /// What the server offers to log in with.
    var offer: AuthenticationOffer?
    var waiter: CheckedContinuation<Result<LoginSuccess, Failure>, Never>?

    init(_ number: Int, _ stream: XMPPStream, _ plan: LoginPlan, _ attempt: Attempt) {
      self.number = number
      self.stream = stream
      self.plan = plan
      self.attempt = attempt
    }
  }

  struct Tried {
    var presented: Presented?
    /// The last mechanism that was begun.
    var mechanism: SASLMechanismName?
    /// What the server offers.
    var offered: [SASLMechanismName] = []
    /// Whether it failed for going ahead of the server.
    var objection = XMPPError.Objection.none
    /// What failed is where the server had sent to.
    var isElsewhere = false
    /// How another attempt may succeed at once.
    var remedy: StreamSuccession.Remedy?
  }

  /// How one attempt to go online is made.
  struct Attempt: Sendable {
    var started = ContinuousClock.now
    /// Bound in seconds.
    var limit = 30.0
    /// Nobody waits for it.
    var isAutomatic = false
    /// Over as soon as a resource is bound.
    var noSync = false
    /// Reports what goes over the wire.
    var wire = false
    /// Presence to show from now on.
    var presence: PresenceShow?
  }

  init(
    account: JID, hub: EventHub, accounts: AccountStore, localStore: LocalStore, log: Logger,
    language: String,
    patience: SessionPatience = .standard, pace: ServerPace = ServerPace(),
    clock: SessionClock = SessionClock(), activity: @escaping @Sendable () -> Void = {}
  ) {
    context = SessionContext(
      account: account, hub: hub, accounts: accounts, localStore: localStore, log: log, language: language,
      patience: patience, clock: clock)
    reconnectPolicy = ReconnectPolicy(quickReturns: patience.quickReturns)
    self.pace = pace
    self.activity = activity
    status = SessionStatus(account: account.description, state: .offline)
    status.since = Timestamp.now()
  }

  var boundStream: XMPPStream? { online?.stream.stream }

  var isOnline: Bool { online != nil }

  /// A stream is being opened that has led to no session yet: one that runs goes on beside it.
  var isOpening: Bool { opening.map { $0.session == nil } ?? false }

  /// The session is online, or trying to be.
  var isActive: Bool { online != nil || opening != nil || trying != nil || pausing != nil }

  /// Something is done for this account: the agent must not end.
  var isBusy: Bool { isActive || isTurnTaken || writes > 0 || kept != nil }

  /// The agent does not end while `body` leaves something in the store.
  func writing<Problem: Error>(
    _ body: () async throws(Problem) -> Void
  ) async throws(Problem) {
    beginWriting()
    defer { endWriting() }
    try await body()
  }

  func beginWriting() { writes += 1 }

  func endWriting() {
    writes -= 1
    activity()
  }

  /// The id by which the account's other devices know this one.
  var deviceID: String? { (online?.plan ?? kept)?.deviceId }

  // MARK: Turns

  /// Runs `body` when no other login or logout of this account runs, and no automatic attempt.
  func inTurn<Value: Sendable>(
    _ body: (isolated Session) async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    if isTurnTaken {
      await withCheckedContinuation { turns.append($0) }
    } else {
      isTurnTaken = true
    }
    activity()
    defer { endTurn() }
    await stopTrying()
    return try await body(self)
  }

  private func endTurn() {
    if turns.isEmpty {
      isTurnTaken = false
      keepOnline()
    } else {
      turns.removeFirst().resume()
    }
    activity()
  }

  /// Begins to come back, where the session is to be online, is not, and nobody sees to it.
  func keepOnline() {
    guard kept != nil, !isActive, !isTurnTaken, !isEnding, idle != .disconnect else { return }
    trying = Task { await self.keepTrying() }
    activity()
  }

  // MARK: States

  /// Goes on to a state and publishes that; what ``SessionLifecycle`` does not have is an error of ours, and is not
  /// published.
  @discardableResult
  func enter(
    _ state: SessionState, cause: Failure? = nil, _ change: (inout StateChange) -> Void = { _ in }
  ) -> Event? {
    guard SessionLifecycle.event(from: status.state, to: state) != nil else {
      log.error(
        "internal error: no such transition",
        metadata: ["account": "\(account)", "from": "\(status.state)", "to": "\(state)"])
      return nil
    }
    var event = StateChange(state: state, previous: status.state)
    event.cause = cause
    change(&event)
    status.state = state
    stateToTell = nil
    status.cause = cause
    status.since = Timestamp.now()
    status.fullJID = online?.bound.jid.description
    if [.loginOK, .syncing, .syncOK, .netChanged].contains(state), online?.state != state {
      online?.state = state
      online?.since = Timestamp.now()
    }
    log.info(
      "state",
      metadata: ["account": "\(account)", "state": "\(state)", "cause": "\(cause?.name.rawValue ?? "-")"])
    defer { activity() }
    return hub.publish(account: account.description, .state(event))
  }

  /// The running session goes on to a state. While a login is made beside it, that is what is told of.
  func advance(_ state: SessionState, _ change: (inout StateChange) -> Void = { _ in }) {
    if !isOpening, SessionLifecycle.event(from: status.state, to: state) != nil {
      enter(state, cause: nil, change)
    } else {
      online?.state = state
      online?.since = Timestamp.now()
    }
  }

  /// Somebody else, or the server's answer to an attempt, decided that the session is over.
  func over(_ failure: Failure) {
    if let kept { pace.leave(account.description, at: kept.serverName) }
    kept = nil
    end = End(failure: failure, time: clock.uptime())
    activity()
  }

  /// The local store is open: told once from the first login until a logout. 33002: afresh, the old one was damaged.
  func tellDataReady() {
    if isDataReadyTold { return }
    isDataReadyTold = true
    hub.publish(account: account.description, .dataReady(code: localStore.movedAside == nil ? 0 : 33_002))
  }

  func forgetDataReady() { isDataReadyTold = false }

  func currentStatus() async -> SessionStatus {
    // Asked of the stream first: what follows is of one moment.
    let idleTime = await online?.stream.stream.idleTime
    var status = status
    status.presence = presence.status
    status.idle = idle
    status.uncertain = messages.recovery.uncertain
    status.refused = context.refusals.counts
    status.lastSeen = lastSeen
    guard let online else {
      // Its stream has just ended, and nobody was told yet.
      if let stateToTell, status.isOnline || status.state == .netChanged { status.state = stateToTell }
      // On its way to come back it is still for this that it is not online.
      if status.state != .offline { status.cause = status.cause ?? lastFailure }
      status.attempt = attempt > 0 && isActive ? attempt : nil
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
