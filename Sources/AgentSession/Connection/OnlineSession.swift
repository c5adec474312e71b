import AgentLogin
import AgentProtocol
import AgentStore
import XMPP
import XMPPClient

/// What the agent knows of a session while its stream is bound.
///
/// On the heap: whoever only looks at it would have a copy of it all in the memory of its task.
final class OnlineSession {
  let stream: BoundSession
  /// What it brings into step with the server.
  let beginning: SessionBeginning
  /// The login that it is to complete; nil when that is done.
  var login: PendingLogin?
  /// Ends a login that takes too long.
  var limit: Task<Void, Never>?
  var plan: LoginPlan
  /// `loginOK`, `syncing` or `syncOK`, and since when: whatever another login is doing meanwhile.
  private(set) var state = SessionState.loginOK
  private(set) var since = Timestamp.now()
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

  init(_ beginning: SessionBeginning, _ login: PendingLogin, _ plan: LoginPlan) {
    self.beginning = beginning
    stream = beginning.stream
    self.login = login
    self.plan = plan
  }

  var bound: BoundStream { stream.bound }

  func enter(_ state: SessionState) {
    guard state != self.state else { return }
    self.state = state
    since = Timestamp.now()
  }

  /// Nothing is done with it any more, and nobody waits for what it would have brought.
  func end() {
    limit?.cancel()
    beginning.end()
    stream.end()
  }

  /// What a new session brings into step. The server sends what it has kept to who may receive messages
  /// (RFC 6121 §8.5.2.1.1).
  func parts(showing presence: Availability) -> [SyncPart] {
    let isReceiving = plan.sendsPresence && presence.show != .offline && presence.priority >= 0
    return SyncPart.allCases.filter { isReceiving || ![.offline, .notices].contains($0) }
  }
}
