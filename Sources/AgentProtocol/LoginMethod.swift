/// How somebody proves who they are.
public enum LoginKind: String, Codable, Sendable, CaseIterable {
  case password
  /// A password, with an e-mail address for the local part (XEP-0106).
  case email
  /// Nobody in particular: the server gives the JID, and nothing is stored.
  case anonymous
  /// A client certificate (RFC 4422 appendix A).
  case external
  /// A token of whoever knows the user: shown as a password, or as a bearer token where the server takes those.
  case token
  /// A JSON Web Token (RFC 7519).
  case jwt
  /// A long-lived bearer token (RFC 6750).
  case apiKey = "api-key"
  /// A JSON document that a function at the server decides by.
  case function
  /// A token and a login extension that a third server decides by.
  case thirdParty = "third-party"

  /// A token logs in, where one of the server for this device does not.
  public var usesToken: Bool {
    switch self {
    case .token, .jwt, .apiKey, .thirdParty: true
    case .password, .email, .anonymous, .external, .function: false
    }
  }

  /// A password or a document logs in.
  public var usesPassword: Bool { self == .password || self == .email || self == .function }
}

/// What `accounts.json` keeps of a secret.
public enum StorePolicy: String, Codable, Sendable, CaseIterable {
  /// All of it, with what the server gave for it.
  case password
  /// Only the SCRAM keys that were derived from it.
  case keys
  /// Only the server's token for this device.
  case token
  /// Only the command that prints it.
  case command
  case none
}

/// What a session does that somebody else ended.
public enum OnKick: String, Codable, Sendable, CaseIterable {
  /// Stays away.
  case stop
  /// Comes back under another resource.
  case reconnect
  /// Comes back under its own resource, and so ends who has it.
  case fight
}

/// Goes online; answers when the session is synced. Its steps arrive as `state` events meanwhile.
public enum LoginMethod: AgentMethod {
  public static let name = "login"
  public static let isQuestion = true
  /// UTF-16 units of a login extension.
  package static let maximumExtension = 1024
  /// Of ``Parameters/maxRetries``: what failed is tried again without end.
  public static let unlimitedRetries = -1
  public struct Parameters: MethodParameters {
    /// A JID; of the kind `anonymous` a domain.
    public var account: String
    /// Absent: as stored, else the kind that what is given now belongs to.
    public var auth: LoginKind?
    /// The name to authenticate as, where it is not the JID's local part.
    public var authcid: String?
    /// A secret given now: always verified with the server. Absent: the stored one. Of the kind `function` the
    /// JSON document.
    public var password: String?
    /// The command that printed `password`: kept with `store: command`, run again at auto-login.
    public var passwordCommand: String?
    /// A token given now.
    public var token: String?
    /// Prints a token, bare or as `{"token":…,"expires":RFC 3339,"jid":…}`: run by the agent for every attempt,
    /// unless the last answer is still good.
    public var tokenCommand: String?
    /// What `tokenCommand` has printed just now: for the first attempt.
    public var tokenAnswer: String?
    /// At most 1024 UTF-16 units for whoever checks the login.
    public var loginExt: String?
    /// Prints the login extension: what it prints beats `loginExt`, unless that is nothing.
    public var loginExtCommand: String?
    /// Of the kind `third-party`: token and extension go as one JSON object where a password goes.
    @Default<False> public var extInPassword: Bool
    /// Absolute paths of PEM files, for the kind `external`.
    public var certFile: String?
    public var keyFile: String?
    /// Only the options given now; absent ones keep their stored value.
    @Default<ConnectionOptions> public var options: ConnectionOptions
    public var store: StorePolicy?
    /// Seconds for the whole login, 0: no bound and retries.
    @Default<Seconds<30>> public var timeout: Double
    /// The rules of a login by itself: what is stored, tried as often as may help, on the device of the last login.
    @Default<False> public var auto: Bool
    /// With `auto`: from any device.
    @Default<False> public var forced: Bool
    /// How often what failed is tried again, also later when a session is lost; -1: without end. Absent: as stored, else
    /// without end.
    public var maxRetries: Int?
    /// What follows on a kick; absent: as stored, else `stop`.
    public var onKick: OnKick?
    /// What the other devices are told of this one; what is absent is as stored, empty texts are none.
    public var device: DeviceIdentity?
    /// Run once when an automatic login is refused: prints a fresh secret, bare or as the JSON object of
    /// `tokenCommand`. Absent: as stored; empty: none.
    public var onAuthFailure: String?
    /// Answers at once and goes on in the background.
    @Default<False> public var detach: Bool
    /// Presence to show; absent: the stored desired presence.
    public var presence: PresenceShow?
    /// Sends no presence at all.
    @Default<False> public var noPresence: Bool
    /// Makes the session report what goes over the wire, as events `wire`.
    @Default<False> public var wire: Bool
    /// Answers after `loginOK`.
    @Default<False> public var noSync: Bool
    /// Fails with `alreadyRunning` where the login would take the place of a session that is online.
    @Default<False> public var noReplace: Bool
    public init(account: String) { self.account = account }

    public func validate() throws(RPCError) {
      try check(seconds: timeout)
      try options.validate()
      for (name, file) in [("certFile", certFile), ("keyFile", keyFile)] {
        if let file, !file.hasPrefix("/") { throw .invalidParameter(name) }
      }
      if let maxRetries, maxRetries < unlimitedRetries { throw .invalidParameter("maxRetries") }
      if let device, !device.isValid { throw .invalidParameter("device") }
      if let onAuthFailure, !onAuthFailure.isEmpty, (try? CommandWords.split(onAuthFailure)) == nil {
        throw .invalidParameter("onAuthFailure")
      }
      if let loginExt, loginExt.utf16.count > maximumExtension { throw .invalidParameter("loginExt") }
      if forced && !auto { throw .invalidParameter("forced") }
      let isGiven = [password, passwordCommand, token, tokenCommand, certFile].contains { $0 != nil }
      if auto && (isGiven || auth == .anonymous) { throw .invalidParameter("auto") }
    }
  }
  public struct Result: Codable, Sendable, Equatable {
    /// Absent where the login goes on in the background.
    public var success: LoginSuccess?
    /// The session was online already and nothing was done.
    public var already: Bool
    public var mechanism: String?
    public var tls: TLSSummary?
    /// What is stored of the secret, where it is less than was asked for.
    public var kept: StorePolicy?
    /// True where the server was not given the login extension: the mechanism has no room for it.
    public var leavesOutExtension: Bool?
    public init(success: LoginSuccess?, already: Bool) {
      self.success = success
      self.already = already
    }
  }
}
