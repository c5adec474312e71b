import AgentProtocol
import FoundationEssentials
import Logging
import NIOCore
import XMPP
import XMPPFeatures
import XMPPSASL
import XMPPStanza
import XMPPTransport
import XMPPXML

/// One account's life in the agent: its stream, what the user wants of it, and the attempts to get it back.
///
/// Every change of state is published. At most one stream is bound at a time; a login with a new secret proves the
/// secret on a stream of its own before it replaces a running one.
actor Session {
  nonisolated let account: JID
  let hub: EventHub
  let accounts: AccountStore
  let log: Logger
  let language: String

  var status: SessionStatus
  var presence = PresenceIntent()
  /// The bound stream.
  var online: Online?
  /// The stream that is being opened.
  var opening: Opening?
  var reconnecting: Task<Void, Never>?
  /// A running session that was lost while a login with another secret was on its way: comes back if that fails.
  var interrupted: LoginPlan?
  var reconnectPolicy = ReconnectPolicy()
  var attempt = 0
  private var presenceTimer: Task<Void, Never>?
  /// The last write of the desired presence to the store.
  private var presenceWrite: Task<Failure?, Never>?
  /// Logins, logouts and removals happen one after the other.
  private var isTurnTaken = false
  private var turns: [CheckedContinuation<Void, Never>] = []
  private var isDataReadyTold = false

  struct Online {
    var stream: XMPPStream
    var bound: BoundStream
    var plan: LoginPlan
    var sendsPresence: Bool
    /// Somebody was sent directed presence, and is to hear of the end too.
    var hasDirectedPresence = false
  }

  struct Opening {
    var stream: XMPPStream
    var plan: LoginPlan
    var parameters: LoginMethod.Parameters
    var started: ContinuousClock.Instant
    /// The mechanisms the server offers.
    var offered: [SASLMechanismName] = []
    var waiter: CheckedContinuation<Result<LoginSuccess, Failure>, Never>?
  }

  init(account: JID, hub: EventHub, accounts: AccountStore, log: Logger, language: String) {
    self.account = account
    self.hub = hub
    self.accounts = accounts
    self.log = log
    self.language = language
    status = SessionStatus(account: account.description, state: .offline)
    status.since = Timestamp.now()
  }

  /// The session is not just an entry of the store: it is online, or trying to be.
  var isActive: Bool { online != nil || opening != nil || reconnecting != nil }

  // MARK: Turns

  /// Runs `body` when no other login or logout of this account runs.
  func inTurn<Value: Sendable>(
    _ body: (isolated Session) async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    if isTurnTaken { await withCheckedContinuation { turns.append($0) } }
    isTurnTaken = true
    defer {
      if turns.isEmpty { isTurnTaken = false } else { turns.removeFirst().resume() }
    }
    return try await body(self)
  }

  // MARK: States

  func enter(_ state: SessionState, cause: Failure? = nil, _ change: (inout StateChange) -> Void = { _ in }) {
    var event = StateChange(state: state, previous: status.state)
    event.cause = cause
    change(&event)
    status.state = state
    status.cause = cause
    status.since = Timestamp.now()
    status.fullJID = online?.bound.jid.description
    log.info(
      "state",
      metadata: ["account": "\(account)", "state": "\(state)", "cause": "\(cause?.name.rawValue ?? "-")"])
    hub.publish(account: account.description, .state(event))
  }

  /// The local store is open: told once from the first login until a logout.
  func tellDataReady() {
    if isDataReadyTold { return }
    isDataReadyTold = true
    hub.publish(account: account.description, .dataReady(code: 0))
  }

  func forgetDataReady() { isDataReadyTold = false }

  func currentStatus() -> SessionStatus {
    var status = status
    status.presence = presenceStatus()
    status.server = online.map { SessionStatus.Server($0.bound) }
    return status
  }

  /// Seconds since 1970.
  static var now: Double { Date().timeIntervalSince1970 }

  // MARK: Presence

  func presenceStatus() -> PresenceStatus {
    let value = presence.effective
    return PresenceStatus(
      show: value.show, status: value.status, priority: value.priority,
      applied: online.map(\.sendsPresence) ?? false)
  }

  /// Takes over what is stored of the desired presence.
  func restore(_ stored: PresenceIntent) {
    presence = stored
    watchPresenceTime()
  }

  func setPresence(_ parameters: PresenceSetMethod.Parameters, by client: ClientHandle) async throws(Failure)
    -> PresenceStatus
  {
    let before = presence.effective
    var value = PresenceIntent.Value(
      show: parameters.show, status: parameters.status, priority: before.priority)
    if let priority = parameters.priority { value.priority = priority }
    if let to = parameters.to {
      try await direct(value, to: to)
      return presenceStatus()
    }
    if parameters.hold {
      presence.hold(value, by: client.id)
    } else {
      presence.set(value, until: parameters.duration.map { Self.now + $0 })
    }
    let isShown = presence.effective == value
    watchPresenceTime()
    try await storePresence()
    await applyPresence()
    var status = presenceStatus()
    status.applied = status.applied && isShown
    return status
  }

  /// Ends the hold of a client that went away.
  func release(_ client: ClientHandle) async {
    let before = presence.effective
    if presence.release(client.id), presence.effective != before { await applyPresence() }
  }

  private func direct(_ value: PresenceIntent.Value, to text: String) async throws(Failure) {
    guard let online else { throw Failure(.notLoggedIn, stage: .request) }
    let to: JID
    do { to = try JID(text) } catch {
      throw Failure(.invalidParameter, stage: .input, detail: "\(text): \(error.message)")
    }
    self.online?.hasDirectedPresence = true
    do throws(XMPPError) { try await online.stream.send([value.stanza(to: to)]) } catch {
      throw Failure(error)
    }
  }

  func applyPresence() async {
    guard online != nil else { return }
    online?.sendsPresence = true
    try? await online?.stream.send([presence.effective.stanza()])
  }

  /// A presence for a time ends by itself; what was before comes back.
  private func watchPresenceTime() {
    presenceTimer?.cancel()
    guard let until = presence.timed?.until else { return }
    presenceTimer = Task {
      try? await Task.sleep(for: .seconds(max(0, until - Self.now)))
      if Task.isCancelled { return }
      guard presence.expire(at: Self.now) else { return }
      try? await storePresence()
      await applyPresence()
    }
  }

  /// Writes happen in the order of the changes, so that the newest is what stays.
  private func storePresence() async throws(Failure) {
    let stored = DesiredPresence(presence)
    let write = Task { [before = presenceWrite] () async -> Failure? in
      _ = await before?.value
      do throws(Failure) {
        try await accounts.change(account) { $0.presence = stored }
        return nil
      } catch {
        return error
      }
    }
    presenceWrite = write
    if let failure = await write.value { throw failure }
  }
}

extension PresenceIntent.Value {
  /// The presence stanza that shows this (RFC 6121 §4.2, §4.5, §4.7).
  func stanza(to: JID? = nil) -> XMLElement {
    var presence = Presence(type: show == .offline ? .unavailable : nil, to: to, status: status)
    switch show {
    case .online, .offline: break
    case .chat, .away, .xa, .dnd: presence.show = Presence.Show(rawValue: show.rawValue)
    }
    if priority != 0, show != .offline { presence.priority = Int8(clamping: priority) }
    return presence.element
  }
}
