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
  private(set) var login: PendingLogin?
  /// The task that ends a login that takes too long.
  private var limit: Task<Void, Never>?
  private(set) var plan: LoginPlan
  /// `loginOK`, `syncing` or `syncOK`, and when it was entered, independent of another login at the same time.
  private(set) var state = SessionState.loginOK
  private(set) var since = Timestamp.now()
  /// Whether the account is being deleted, so that the server will end the stream.
  private(set) var isAccountEnding = false
  /// The time of the login, as published for other devices.
  let lastLogin: String?
  /// The form in which the secret is stored, if it is less than requested.
  private(set) var shortfall: StorePolicy?
  /// Whether the login extension was not sent to the server.
  let leavesOutExtension: Bool
  /// Whether the server keeps the session for a while if the connection breaks.
  private(set) var isResumable = false

  /// - Parameter isPublished: Whether the time of the login is published for other devices.
  init(
    _ beginning: SessionBeginning, _ login: PendingLogin, _ plan: LoginPlan, isPublished: Bool,
    leavesOutExtension: Bool
  ) {
    self.beginning = beginning
    stream = beginning.stream
    self.login = login
    self.plan = plan
    self.leavesOutExtension = leavesOutExtension
    lastLogin = isPublished ? plan.lastLogin : nil
  }

  var bound: BoundStream { stream.bound }

  func enter(_ state: SessionState) {
    guard state != self.state else { return }
    self.state = state
    since = Timestamp.now()
  }

  /// Calls `expire` after this number of seconds, unless the login is complete by then.
  func limit(to seconds: Double, _ expire: @escaping @Sendable () async -> Void) {
    limit = Task {
      try? await Task.sleep(for: .seconds(seconds))
      if !Task.isCancelled { await expire() }
    }
  }

  func loginCompleted() {
    login = nil
    limit?.cancel()
  }

  /// The login is stored.
  ///
  /// - Parameter shortfall: The form in which the secret is stored, if it is less than requested.
  func stored(lacking shortfall: StorePolicy?) { self.shortfall = shortfall }

  func changePlan(_ change: (inout LoginPlan) -> Void) { change(&plan) }

  func resumptionChanged(to isResumable: Bool) { self.isResumable = isResumable }

  func accountDeletionBegan() { isAccountEnding = true }

  func accountDeletionFailed() { isAccountEnding = false }

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
