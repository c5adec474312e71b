/// All failures with their seed codes, exit status, retry class, effect on the stored login, and text.
public enum FailureTable {
  /// Whether trying again may help.
  public enum Retry: Sendable, Equatable {
    /// Only a change by the user helps.
    case fatal
    /// Something else took over: the session ends and does not come back automatically.
    case stop
    /// The next attempt may succeed.
    case again
    /// As `again`, but a manual login reports the failure at once.
    case automatic
    /// As `automatic`, but after a longer pause.
    case later
    /// As `again`, after the pause that the server requested, or a long one.
    case after
    /// One attempt with a fresh token, then fatal.
    case freshToken

    /// Whether trying again without a change may help.
    public var isRetry: Bool { self == .again || self == .automatic || self == .later || self == .after }

    /// Whether a login tries again: `automatic` for the agent's own logins, false for a login whose user waits.
    public func retries(automatic: Bool) -> Bool {
      switch self {
      case .again, .after: true
      case .automatic, .later: automatic
      case .fatal, .stop, .freshToken: false
      }
    }
  }

  /// What a failure removes from the stored login. Account and domain always remain.
  public enum Clears: Sendable, Equatable {
    case nothing
    /// The refused secret, and `isLogin`.
    case secret
    /// The refused token; a password remains.
    case token
    /// Only `isLogin`.
    case isLogin
  }

  public struct Row: Sendable {
    public let name: Failure.Name
    public let codes: [Int]
    /// The codes at the stage `input`, if they differ.
    public let codesAtInput: [Int]?
    /// Exit status.
    public let exit: Int32
    /// The exit status at the stage `input`, if it differs.
    public let exitAtInput: Int32?
    public let retry: Retry
    public let clears: Clears
    let english: Failure.Text
    let chinese: Failure.Text

    public func codes(at stage: Failure.Stage) -> [Int] { stage == .input ? codesAtInput ?? codes : codes }

    public func exit(at stage: Failure.Stage) -> Int32 { stage == .input ? exitAtInput ?? exit : exit }

    /// The text without stage and detail.
    public func text(_ language: Language) -> Failure.Text { language == .chinese ? chinese : english }
  }

  public static subscript(_ name: Failure.Name) -> Row? { byName[name] }

  private static let byName = Dictionary(rows.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })

  static func internalErrorHint(_ language: Language) -> String {
    self[.internalError]?.text(language).hint ?? ""
  }
}

extension Failure.Name {
  public static let invalidParameter = Self(rawValue: "invalidParameter")
  public static let notLoggedIn = Self(rawValue: "notLoggedIn")
  public static let firstLoginNeedsNetwork = Self(rawValue: "firstLoginNeedsNetwork")
  public static let unknownDomain = Self(rawValue: "unknownDomain")
  public static let serviceGone = Self(rawValue: "serviceGone")
  public static let connectionRefused = Self(rawValue: "connectionRefused")
  public static let mechanismUnavailable = Self(rawValue: "mechanismUnavailable")
  public static let agentUnreachable = Self(rawValue: "agentUnreachable")
  public static let internalError = Self(rawValue: "internalError")
  public static let tlsFailure = Self(rawValue: "tlsFailure")
  public static let databaseError = Self(rawValue: "databaseError")
  public static let outputFailed = Self(rawValue: "outputFailed")
  public static let stanzaError = Self(rawValue: "stanzaError")
  public static let networkError = Self(rawValue: "networkError")
  public static let connectTimeout = Self(rawValue: "connectTimeout")
  public static let retriesExhausted = Self(rawValue: "retriesExhausted")
  public static let alreadyRunning = Self(rawValue: "alreadyRunning")
  public static let protocolError = Self(rawValue: "protocolError")
  public static let downgrade = Self(rawValue: "downgrade")
  public static let authFailed = Self(rawValue: "authFailed")
  public static let tokenIncorrect = Self(rawValue: "tokenIncorrect")
  public static let invalidToken = Self(rawValue: "invalidToken")
  public static let clientRejected = Self(rawValue: "clientRejected")
  public static let credentialSourceFailed = Self(rawValue: "credentialSourceFailed")
  public static let notInitialized = Self(rawValue: "notInitialized")
  public static let tokenExpired = Self(rawValue: "tokenExpired")
  public static let sessionExpired = Self(rawValue: "sessionExpired")
  public static let kicked = Self(rawValue: "kicked")
  public static let otherDeviceLogin = Self(rawValue: "otherDeviceLogin")
  public static let loginForbidden = Self(rawValue: "loginForbidden")
  public static let userBlocked = Self(rawValue: "userBlocked")
  public static let proxyUnavailable = Self(rawValue: "proxyUnavailable")
  public static let deviceChanged = Self(rawValue: "deviceChanged")
  public static let tooManyDevices = Self(rawValue: "tooManyDevices")
  public static let rateLimited = Self(rawValue: "rateLimited")
  public static let deliveryUnconfirmed = Self(rawValue: "deliveryUnconfirmed")
  public static let cancelled = Self(rawValue: "cancelled")
}
