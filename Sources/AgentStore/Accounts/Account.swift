import AgentProtocol
import XMPPSASL

/// An account as stored in `accounts.json`. Keys that this version does not know survive a rewrite.
package struct Account: Sendable, Equatable {
  /// Normalised bare JID.
  package let account: String
  /// The stored part of the credential.
  package var credential = LoginCredential()
  /// The JID's domain.
  package var domain: String
  /// Whether the agent logs in this account when it starts.
  package var isLogin = false
  /// The policy for storing the secret.
  package var store: StorePolicy = .password
  /// The server's token for this device.
  package var token: DeviceToken?
  /// The keys that SCRAM has derived from the password, one per hash.
  package var scramKeys: [SCRAMKeys] = []
  /// The maximum number of retries; absent for no limit.
  package var maxRetries: Int?
  /// The reaction to a kick; absent for `stop`.
  package var onKick: OnKick?
  /// A command that prints a fresh secret; run once when an automatic login is refused.
  package var onAuthFailure: String?
  package var options = ConnectionOptions()
  /// Whether a login sends no presence.
  package var noPresence: Bool?
  /// The desired presence; absent for available.
  package var presence: DesiredPresence?
  /// The idle mode while the user is away; absent while the user is there.
  package var idle: IdleMode?
  /// The description of this device for the other devices.
  package var device: DeviceIdentity?
  /// The policy that limits the account's devices online; absent for no limit.
  package var devicePolicy: DevicePolicy?
  /// Whether ``devicePolicy`` was changed here and not published to the other devices yet.
  package var hasUnpublishedPolicy: Bool?
  /// The push services that the server notifies.
  package var push: [PushRegistration] = []
  /// The ID of this installation, which stays the same when the account logs in again.
  package var deviceId: String?
  /// RFC 3339: the login time of this device, as published to the other devices.
  package var lastLogin: String?
  /// The known properties of the account's server.
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

  /// The command that prints the password, run for every login.
  package var passwordCommand: String? {
    get { credential.passwordCommand }
    set { credential.passwordCommand = newValue }
  }

  /// Whether a credential for a login is stored.
  package var hasCredential: Bool { credential.isUsable || token != nil || !scramKeys.isEmpty }
}

/// The last state that the agent recorded, for `status` when no agent is running.
package struct LastState: Codable, Sendable, Equatable {
  package var state: SessionState
  package var cause: Failure?
  /// RFC 3339.
  package var time: String
  /// RFC 3339: the time at which the server was last heard from.
  package var lastSeen: String?
  package init(state: SessionState, cause: Failure? = nil, time: String) {
    self.state = state
    self.cause = cause
    self.time = time
  }
}
