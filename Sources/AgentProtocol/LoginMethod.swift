/// The kind of credentials of a login.
public enum LoginKind: String, Codable, Sendable, CaseIterable {
  case password
  /// A password; the local part is an e-mail address (XEP-0106).
  case email
  /// Anonymous: the server assigns the JID, and nothing is stored.
  case anonymous
  /// A client certificate (RFC 4422 appendix A).
  case external
  /// A token of a service that knows the user, sent as a password, or as a bearer token where the server accepts those.
  case token
  /// A JSON Web Token (RFC 7519).
  case jwt
  /// A long-lived bearer token (RFC 6750).
  case apiKey = "api-key"
  /// A JSON document that a function at the server evaluates.
  case function
  /// A token and a login extension that a third server evaluates.
  case thirdParty = "third-party"

  /// Whether the account logs in with a given token, unless the server has issued its own token for this device.
  public var usesToken: Bool {
    switch self {
    case .token, .jwt, .apiKey, .thirdParty: true
    case .password, .email, .anonymous, .external, .function: false
    }
  }

  /// Whether a password or a document logs in.
  public var usesPassword: Bool { self == .password || self == .email || self == .function }
}

/// The form in which `accounts.json` stores a secret.
public enum StorePolicy: String, Codable, Sendable, CaseIterable {
  /// The secret itself, together with the server's token and the SCRAM keys.
  case password
  /// Only the SCRAM keys that were derived from the secret.
  case keys
  /// Only the server's token for this device.
  case token
  /// Only the command that prints the secret.
  case command
  case none
}

/// The reaction of a session that was ended by another party.
public enum OnKick: String, Codable, Sendable, CaseIterable {
  /// The account remains offline.
  case stop
  /// The account logs in again with another resource.
  case reconnect
  /// The account logs in again with its own resource, which ends the session that uses the resource.
  case fight
}

/// Brings an account online; answers when the session is synchronised. Meanwhile, `state` events report the progress.
public enum LoginMethod: AgentMethod {
  public static let name = "login"
  public static let mayBeAbandoned = true
  /// The maximum length of a login extension in UTF-16 code units.
  package static let maximumExtension = 1024
  /// The value of ``Parameters/maxRetries`` for unlimited retries.
  public static let unlimitedRetries = -1
  public struct Parameters: MethodParameters {
    /// A JID; for the kind `anonymous`, a domain.
    public var account: String
    /// Absent: the stored kind, or the kind of the given credentials.
    public var auth: LoginKind?
    /// The authentication identity, if it is not the JID's local part.
    public var authcid: String?
    /// A new secret, which is always verified with the server; for the kind `function`, the JSON document. Absent: the
    /// stored secret.
    public var password: String?
    /// The command that printed `password`. With `store: command` it is stored, and runs again at auto-login.
    public var passwordCommand: String?
    /// A new token.
    public var token: String?
    /// Prints a token, bare or as `{"token":…,"expires":RFC 3339,"jid":…}`. The agent runs the command for every
    /// attempt, unless the last token is still valid.
    public var tokenCommand: String?
    /// The current output of `tokenCommand`, for the first attempt.
    public var tokenAnswer: String?
    /// The login extension for the server's authentication, at most 1024 UTF-16 code units.
    public var loginExt: String?
    /// Prints the login extension. Its output, unless empty, takes precedence over `loginExt`.
    public var loginExtCommand: String?
    /// For the kind `third-party`: token and extension are sent as one JSON object in place of the password.
    @Default<False> public var extInPassword: Bool
    /// Absolute paths of PEM files for the kind `external`.
    public var certFile: String?
    public var keyFile: String?
    /// Absent options keep their stored value.
    @Default<ConnectionOptions> public var options: ConnectionOptions
    public var store: StorePolicy?
    /// The time limit of the whole login in seconds; 0: no limit, with retries.
    @Default<Seconds<30>> public var timeout: Double
    /// Applies the rules of automatic logins: stored credentials, useful retries, and only on the device of the last
    /// login.
    @Default<False> public var auto: Bool
    /// With `auto`: logs in from any device.
    @Default<False> public var forced: Bool
    /// The number of retries, both of this login and when a session is lost later; -1: unlimited. Absent: the stored
    /// number, or unlimited.
    public var maxRetries: Int?
    /// The reaction to a kick; absent: the stored reaction, or `stop`.
    public var onKick: OnKick?
    /// The description of this device for the other devices. Absent fields keep their stored value, empty texts are
    /// removed.
    public var device: DeviceIdentity?
    /// The command to run once if an automatic login is refused. It prints a new secret, bare or as the JSON object of
    /// `tokenCommand`. Absent: the stored command; empty: none.
    public var onAuthFailure: String?
    /// Answers at once; the login continues in the background.
    @Default<False> public var detach: Bool
    /// The presence to send; absent: the stored desired presence.
    public var presence: PresenceShow?
    /// Sends no presence.
    @Default<False> public var noPresence: Bool
    /// Reports the elements that the session sends and receives as events `wire`.
    @Default<False> public var wire: Bool
    /// Answers after `loginOK`, without waiting for synchronisation.
    @Default<False> public var noSync: Bool
    /// Fails with `alreadyRunning` if the login would replace a session that is online.
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
    /// Absent if the login continues in the background.
    public var success: LoginSuccess?
    /// Whether the session was online already, so that nothing was done.
    public var already: Bool
    public var mechanism: String?
    public var tls: TLSSummary?
    /// The form in which the secret is stored, if it is less than requested.
    public var kept: StorePolicy?
    /// True if the login extension was not sent, because the mechanism cannot carry it.
    public var leavesOutExtension: Bool?
    public init(success: LoginSuccess?, already: Bool) {
      self.success = success
      self.already = already
    }
  }
}
