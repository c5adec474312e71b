import AgentProtocol

/// One account as `accounts.json` keeps it. Keys that this version does not know survive a rewrite.
public struct Account: Sendable, Equatable {
  /// Normalised bare JID.
  public let account: String
  public var password: Secret?
  /// The JID's domain.
  public var domain: String
  /// The agent logs this account in by itself when it starts.
  public var isLogin = false
  /// Prints the password; run anew for every login.
  public var passwordCommand: String?
  /// What of the secret is kept.
  public var store: StorePolicy = .password
  /// A token of the server for this device.
  public var token: Secret?
  public var options = ConnectionOptions()
  /// Shows no presence at login.
  public var noPresence: Bool?
  /// Desired presence; absent: available.
  public var presence: DesiredPresence?
  /// Stands for this installation; stays when the account logs in anew.
  public var deviceId: String?
  /// What is known of its server.
  public var server: KnownServer?
  public var lastState: LastState?
  var others: [String: JSONValue] = [:]

  public init(account: String, domain: String) {
    self.account = account
    self.domain = domain
  }

  /// There is something to log in with.
  public var hasCredential: Bool { password != nil || passwordCommand != nil || token != nil }
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
  public init(state: SessionState, cause: Failure? = nil, time: String) {
    self.state = state
    self.cause = cause
    self.time = time
  }
}

extension Account: Codable {
  private enum Key: String, CodingKey, CaseIterable {
    case account, password, domain, isLogin, passwordCommand, store, token, options, presence, deviceId
    case server, lastState, noPresence
  }

  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: Key.self)
    let spelling = try fields.decode(String.self, forKey: .account)
    let jid: (bare: String, domain: String)
    do {
      jid = try BareJID.parts(spelling)
    } catch {
      throw DecodingError.dataCorruptedError(
        forKey: .account, in: fields, debugDescription: "not a bare JID")
    }
    self.init(account: jid.bare, domain: jid.domain)
    domain = try fields.decodeIfPresent(String.self, forKey: .domain) ?? domain
    password = try fields.decodeIfPresent(Secret.self, forKey: .password)
    isLogin = try fields.decodeIfPresent(Bool.self, forKey: .isLogin) ?? false
    passwordCommand = try fields.decodeIfPresent(String.self, forKey: .passwordCommand)
    store = try fields.decodeIfPresent(StorePolicy.self, forKey: .store) ?? .password
    token = try fields.decodeIfPresent(Secret.self, forKey: .token)
    options = try fields.decodeIfPresent(ConnectionOptions.self, forKey: .options) ?? ConnectionOptions()
    presence = try fields.decodeIfPresent(DesiredPresence.self, forKey: .presence)
    deviceId = try fields.decodeIfPresent(String.self, forKey: .deviceId)
    noPresence = try fields.decodeIfPresent(Bool.self, forKey: .noPresence)
    server = try? fields.decodeIfPresent(KnownServer.self, forKey: .server)
    lastState = try? fields.decodeIfPresent(LastState.self, forKey: .lastState)
    others = try decoder.otherFields(than: Key.allCases)
  }

  public func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: Key.self)
    try fields.encode(account, forKey: .account)
    try fields.encodeIfPresent(password, forKey: .password)
    try fields.encode(domain, forKey: .domain)
    try fields.encode(isLogin, forKey: .isLogin)
    try fields.encodeIfPresent(passwordCommand, forKey: .passwordCommand)
    try fields.encode(store, forKey: .store)
    try fields.encodeIfPresent(token, forKey: .token)
    if options != ConnectionOptions() { try fields.encode(options, forKey: .options) }
    try fields.encodeIfPresent(presence, forKey: .presence)
    try fields.encodeIfPresent(deviceId, forKey: .deviceId)
    try fields.encodeIfPresent(noPresence, forKey: .noPresence)
    try fields.encodeIfPresent(server, forKey: .server)
    try fields.encodeIfPresent(lastState, forKey: .lastState)
    try encoder.encode(otherFields: others)
  }
}
