import AgentLogin
import AgentProtocol
import AgentStore
import XMPP
import XMPPClient

/// The state of a session while its stream is bound.
///
/// It is a class so that code that only reads it does not copy it into the memory of its task.
final class OnlineSession {
  let stream: BoundSession
  /// The synchronisation with the server.
  let beginning: SessionBeginning
  /// The login that this session is to complete; nil once it is complete.
  var login: PendingLogin?
  /// The task that ends a login that takes too long.
  var limit: Task<Void, Never>?
  var plan: LoginPlan
  /// `loginOK`, `syncing` or `syncOK`, and when it was entered, independent of another login at the same time.
  private(set) var state = SessionState.loginOK
  private(set) var since = Timestamp.now()
  /// Whether the account is being deleted, so that the server will end the stream.
  var isAccountEnding = false
  /// The time of the login, as published for other devices.
  var lastLogin: String?
  /// The form in which the secret is stored, if it is less than requested.
  var shortfall: StorePolicy?
  /// Whether the login extension was not sent to the server.
  var leavesOutExtension = false
  /// Whether the server keeps the session for a while if the connection breaks.
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

  /// Ends the session and everything that waits for its synchronisation.
  func end() {
    limit?.cancel()
    beginning.end()
    stream.end()
  }

  /// The parts that a new session synchronises. Servers send stored messages only to resources that may receive
  /// messages (RFC 6121 §8.5.2.1.1).
  func parts(showing presence: Availability) -> [SyncPart] {
    let isReceiving = plan.sendsPresence && presence.show != .offline && presence.priority >= 0
    return SyncPart.allCases.filter { isReceiving || ![.offline, .notices].contains($0) }
  }
}
