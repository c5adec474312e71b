import AgentProtocol
import XMPPSASL

/// One account as `accounts.json` keeps it. Keys that this version does not know survive a rewrite.
package struct Account: Sendable, Equatable {
  /// Normalised bare JID.
  package let account: String
  /// What it logs in with, as far as that is stored.
  package var credential = LoginCredential()
  /// The JID's domain.
  package var domain: String
  /// The agent logs this account in by itself when it starts.
  package var isLogin = false
  /// What of the secret is kept.
  package var store: StorePolicy = .password
  /// The server's token for this device.
  package var token: DeviceToken?
  /// What SCRAM has derived from the password; one entry a hash.
  package var scramKeys: [SCRAMKeys] = []
  /// How often what failed is tried again; absent: without end.
  package var maxRetries: Int?
  /// What follows on a kick; absent: `stop`.
  package var onKick: OnKick?
  /// Prints a fresh secret; run once when an automatic login is refused.
  package var onAuthFailure: String?
  package var options = ConnectionOptions()
  /// Shows no presence at login.
  package var noPresence: Bool?
  /// Desired presence; absent: available.
  package var presence: DesiredPresence?
  /// What the session does while the user looks away; absent: the user is there.
  package var idle: IdleMode?
  /// What the other devices are told of this one.
  package var device: DeviceIdentity?
  /// Which devices of the account may be online at a time; absent: all.
  package var devicePolicy: DevicePolicy?
  /// ``devicePolicy`` was changed here, and the account's other devices have not been told yet.
  package var hasUnpublishedPolicy: Bool?
  /// Push services that the server is to tell.
  package var push: [PushRegistration] = []
  /// Stands for this installation; stays when the account logs in anew.
  package var deviceId: String?
  /// RFC 3339: when this device logged in, as the others were told.
  package var lastLogin: String?
  /// What is known of its server.
  package var server: KnownServer?
  package var lastState: LastState?
  package var others: [String: JSONValue] = [:]

  package init(account: String, domain: String) {
    self.account = account
    self.domain = domain
  }

  package var password: Secret? {
    get { credential.password }
    set { credential.password = newValue }
  }

  /// Prints the password; run anew for every login.
  package var passwordCommand: String? {
    get { credential.passwordCommand }
    set { credential.passwordCommand = newValue }
  }

  /// There is something to log in with.
  package var hasCredential: Bool { credential.isUsable || token != nil || !scramKeys.isEmpty }
}

/// Presence that the user asked for: applied at login and after every reconnect.
package struct DesiredPresence: Codable, Sendable, Equatable {
  package var show: PresenceShow
  package var status: String?
  /// −128…127.
  package var priority: Int
  /// RFC 3339: when it ends and `before` comes back.
  package var until: String?
  /// What was there before a presence with `until`.
  package var before: Availability?

  package struct Availability: Codable, Sendable, Equatable {
    package var show: PresenceShow
    package var status: String?
    package var priority: Int
    package init(show: PresenceShow, status: String? = nil, priority: Int = 0) {
      self.show = show
      self.status = status
      self.priority = priority
    }
  }

  package init(show: PresenceShow, status: String? = nil, priority: Int = 0) {
    self.show = show
    self.status = status
    self.priority = priority
  }
}

/// The state that the agent last saw, for `status` when no agent runs.
package struct LastState: Codable, Sendable, Equatable {
  package var state: SessionState
  package var cause: Failure?
  /// RFC 3339.
  package var time: String
  /// RFC 3339: when the server was last heard of.
  package var lastSeen: String?
  package init(state: SessionState, cause: Failure? = nil, time: String) {
    self.state = state
    self.cause = cause
    self.time = time
  }
}
