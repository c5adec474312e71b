import AgentLogin
import AgentProtocol
import AgentStore
import XMPP
import XMPPClient
import XMPPStanza

/// The session of one account in the agent: its client, the user's wishes and the parts of the session.
///
/// Every change of state is published. Logins and logouts take turns. Between turns, the client keeps the session
/// online with ``activePlan``, the plan of the last successful login. A turn first ends such an attempt, and finally
/// lets the client continue. A login with a new secret verifies the secret on a stream of its own before it replaces an
/// online session.
package actor Session {
  let context: SessionContext
  let turns = Turns()
  let published: PublishedState
  let reconnection: Reconnection
  private(set) lazy var client = XMPPClient(clientConfiguration)
  /// The login in progress, by a user or automatic.
  private(set) var login: PendingLogin?
  /// The number of logins so far.
  private var logins = 0
  /// The bound session.
  var online: OnlineSession?
  // The parts of the session. They are isolated to it, and each owns its state.
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

  /// The plan that keeps the session online; nil if it is to be offline.
  var activePlan: LoginPlan? { reconnection.activePlan }

  /// Why the session is not online.
  var lastFailure: Failure? { reconnection.lastFailure }

  /// Why the session is no longer kept online, except after a logout.
  var end: Reconnection.End? { reconnection.end }

  /// The failure that ended the session for good, and its time by the clock's `uptime`; nil while the session is kept
  /// online and after a logout.
  package var endForGood: (failure: Failure, time: Double)? { end.map { ($0.failure, $0.time) } }

  /// What the session does while the user is inactive; nil: the user is active.
  package var idle: IdleMode? { reconnection.idle }

  var boundStream: XMPPStream? { online?.stream.stream }

  package var isOnline: Bool { online != nil }

  /// Whether the session is online or connecting.
  package var isActive: Bool { online != nil || login != nil }

  /// Whether the account is in use, so that the agent must not end.
  package var isBusy: Bool { isActive || turns.isTaken || published.writes > 0 || activePlan != nil }

  /// Runs `body`, during which the agent does not end, so that it can write to the store.
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

  /// Runs `body` while no other login, logout or automatic attempt of this account is in progress.
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

  // MARK: The login in progress

  func beginLogin(_ plan: LoginPlan, _ terms: PendingLogin.Terms) -> PendingLogin {
    logins += 1
    let login = PendingLogin(plan, terms, number: logins)
    self.login = login
    return login
  }

  /// The login in progress has succeeded, failed or been given up.
  func loginEnded() {
    login?.close()
    login = nil
  }

  // MARK: States

  /// Enters a state and publishes it.
  func enter(
    _ state: SessionState, cause: Failure? = nil, _ change: (inout StateChange) -> Void = { _ in }
  ) {
    if published.mayEnter(state), [.loginOK, .syncing, .syncOK, .netChanged].contains(state) {
      online?.enter(state)
    }
    published.enter(state, cause: cause, fullJID: online?.bound.jid.description, change)
  }

  /// The online session enters a state. If another login is connecting, its states are published instead.
  func advance(_ state: SessionState, _ change: (inout StateChange) -> Void = { _ in }) {
    if login?.isConnecting != true, published.mayEnter(state) {
      enter(state, cause: nil, change)
    } else {
      online?.enter(state)
    }
  }

  package func currentStatus() async -> SessionStatus {
    // The stream is asked first, so that everything after it belongs to the same moment.
    let idleTime = await boundStream?.idleTime
    var status = published.status
    status.presence = presence.status
    status.idle = idle
    status.uncertain = messages.recovery.uncertain
    status.refused = context.refusals.counts
    status.lastSeen = published.lastSeen
    status.nextRetry = login?.pause?.end
    guard let online else {
      // The stream has just ended, which is not published yet.
      if let state = published.stateToTell, status.isOnline || status.state == .netChanged {
        status.state = state
      }
      // While the session reconnects, it is still offline because of this failure.
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
