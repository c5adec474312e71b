import AgentProtocol
import XMPPSASL

/// One account as `accounts.json` keeps it. Keys that this version does not know survive a rewrite.
public struct Account: Sendable, Equatable {
  /// Normalised bare JID.
  public let account: String
  /// What it logs in with, as far as that is stored.
  public var credential = LoginCredential()
  /// The JID's domain.
  public var domain: String
  /// The agent logs this account in by itself when it starts.
  public var isLogin = false
  /// What of the secret is kept.
  public var store: StorePolicy = .password
  /// The server's token for this device.
  public var token: DeviceToken?
  /// What SCRAM has derived from the password; one entry a hash.
  public var scramKeys: [SCRAMKeys] = []
  /// How often what failed is tried again; absent: without end.
  public var maxRetries: Int?
  /// What follows on a kick; absent: `stop`.
  public var onKick: OnKick?
  /// Prints a fresh secret; run once when an automatic login is refused.
  public var onAuthFailure: String?
  public var options = ConnectionOptions()
  /// Shows no presence at login.
  public var noPresence: Bool?
  /// Desired presence; absent: available.
  public var presence: DesiredPresence?
  /// What the session does while the user looks away; absent: the user is there.
  public var idle: IdleMode?
  /// What the other devices are told of this one.
  public var device: DeviceIdentity?
  /// Which devices of the account may be online at a time; absent: all.
  public var devicePolicy: DevicePolicy?
  /// ``devicePolicy`` was changed here, and the account's other devices have not been told yet.
  public var hasUnpublishedPolicy: Bool?
  /// Push services that the server is to tell.
  public var push: [PushRegistration] = []
  /// Stands for this installation; stays when the account logs in anew.
  public var deviceId: String?
  /// RFC 3339: when this device logged in, as the others were told.
  public var lastLogin: String?
  /// What is known of its server.
  public var server: KnownServer?
  public var lastState: LastState?
  var others: [String: JSONValue] = [:]

  public init(account: String, domain: String) {
    self.account = account
    self.domain = domain
  }

  public var password: Secret? {
    get { credential.password }
    set { credential.password = newValue }
  }

  /// Prints the password; run anew for every login.
  public var passwordCommand: String? {
    get { credential.passwordCommand }
    set { credential.passwordCommand = newValue }
  }

  /// There is something to log in with.
  public var hasCredential: Bool { credential.isUsable || token != nil || !scramKeys.isEmpty }
}

/// Presence that the user asked for: applied at login and after every reconnect.
public struct DesiredPresence: Codable, Sendable, Equatable {
  public var show: PresenceShow
  public var status: String?
  /// −128…127.
  public var priority: Int
  /// RFC 3339: when it ends and `before` comes back.
  public var until: String?
  /// What was there before a presence with `until`.
  public var before: Availability?

  public struct Availability: Codable, Sendable, Equatable {
    public var show: PresenceShow
    public var status: String?
    public var priority: Int
    public init(show: PresenceShow, status: String? = nil, priority: Int = 0) {
      self.show = show
      self.status = status
      self.priority = priority
    }
  }

  public init(show: PresenceShow, status: String? = nil, priority: Int = 0) {
    self.show = show
    self.status = status
    self.priority = priority
  }
}

/// The state that the agent last saw, for `status` when no agent runs.
public struct LastState: Codable, Sendable, Equatable {
  public var state: SessionState
  public var cause: Failure?
  /// RFC 3339.
  public var time: String
  /// RFC 3339: when the server was last heard of.
  public var lastSeen: String?
  public init(state: SessionState, cause: Failure? = nil, time: String) {
    self.state = state
    self.cause = cause
    self.time = time
  }
}
