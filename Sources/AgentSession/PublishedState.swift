import AgentProtocol
import Logging

/// The state of a session as watchers were told it, with the times that belong to it.
final class PublishedState {
  private let context: SessionContext
  private(set) var status: SessionStatus
  /// The state since the stream ended, where watchers were told another one; otherwise nil.
  private(set) var stateToTell: SessionState?
  /// RFC 3339: since when the session is online, resumptions included, and when the server was last heard of.
  private(set) var onlineSince: String?
  private(set) var lastSeen: String?
  private var isDataReadyTold = false
  /// The number of writes to the store that are not finished.
  private(set) var writes = 0
  /// Told of each state that is entered.
  private var observers: [AsyncStream<Void>.Continuation] = []

  init(_ context: SessionContext) {
    self.context = context
    status = SessionStatus(account: context.account.description, state: .offline)
    status.since = Timestamp.now()
  }

  /// Reports that work may have begun or ended for which the agent must keep running.
  func activityChanged() { context.resources.activity() }

  func beginWriting() { writes += 1 }

  func endWriting() {
    writes -= 1
    activityChanged()
  }

  /// Whether the session was online before, in the life of this agent.
  var wasOnline: Bool { status.sessions > 0 || status.resumes > 0 }

  func sessionBound(isResumed: Bool) {
    if isResumed {
      status.resumes += 1
    } else {
      status.sessions += 1
      onlineSince = context.timestamp()
    }
  }

  /// The stream of the session has ended.
  ///
  /// - Parameter next: The state that will be published soon, and applies until then.
  func streamEnded(_ next: SessionState) { stateToTell = next }

  /// The server was last heard of this number of seconds ago.
  func serverHeard(secondsAgo seconds: Double) { lastSeen = context.timestamp(-seconds) }

  /// Enters a state and publishes it. A transition that ``SessionLifecycle`` lacks is a bug: it is logged and not
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
    observers.removeAll { if case .terminated = $0.yield() { true } else { false } }
    activityChanged()
  }

  /// Yields after one or more states were entered, until the observer finishes the continuation.
  func observe() -> (AsyncStream<Void>, AsyncStream<Void>.Continuation) {
    let (changes, observer) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    observers.append(observer)
    return (changes, observer)
  }

  /// Whether ``SessionLifecycle`` allows this state after the last published one.
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
