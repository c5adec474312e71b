import AgentProtocol
import Logging

/// What is told of a session's state, and since when it is so.
final class PublishedState {
  private let context: SessionContext
  /// Told when the session may have become busy, or idle.
  private let activity: @Sendable () -> Void
  var status: SessionStatus
  /// What the session is since its stream has ended; nil where others were told.
  var stateToTell: SessionState?
  /// RFC 3339: since when it is online, resumptions included, and when the server was last heard of.
  var onlineSince: String?
  var lastSeen: String?
  private var isDataReadyTold = false
  /// Writes to the store that are not done yet.
  private(set) var writes = 0

  init(_ context: SessionContext, activity: @escaping @Sendable () -> Void) {
    self.context = context
    self.activity = activity
    status = SessionStatus(account: context.account.description, state: .offline)
    status.since = Timestamp.now()
  }

  /// Something may have begun or ended for which the agent has to go on.
  func activityChanged() { activity() }

  func beginWriting() { writes += 1 }

  func endWriting() {
    writes -= 1
    activity()
  }

  /// Goes on to a state and publishes that; what ``SessionLifecycle`` does not have is an error of ours, and is not
  /// published.
  func enter(
    _ state: SessionState, cause: Failure?, fullJID: String?, _ change: (inout StateChange) -> Void
  ) {
    let account = context.account.description
    guard SessionLifecycle.event(from: status.state, to: state) != nil else {
      context.log.error(
        "internal error: no such transition",
        metadata: ["account": "\(account)", "from": "\(status.state)", "to": "\(state)"])
      return
    }
    var event = StateChange(state: state, previous: status.state)
    event.cause = cause
    change(&event)
    status.state = state
    stateToTell = nil
    status.cause = cause
    status.since = Timestamp.now()
    status.fullJID = fullJID
    context.log.info(
      "state",
      metadata: ["account": "\(account)", "state": "\(state)", "cause": "\(cause?.name.rawValue ?? "-")"])
    context.hub.publish(account: account, .state(event))
    activity()
  }

  /// Whether a state may follow on what was told last.
  func mayEnter(_ state: SessionState) -> Bool {
    SessionLifecycle.event(from: status.state, to: state) != nil
  }

  /// The local store is open: told once from the first login until a logout. 33002: afresh, the old one was damaged.
  func tellDataReady() {
    if isDataReadyTold { return }
    isDataReadyTold = true
    let code = context.localStore.movedAside == nil ? 0 : 33_002
    context.hub.publish(account: context.account.description, .dataReady(code: code))
  }

  func forgetDataReady() { isDataReadyTold = false }
}
