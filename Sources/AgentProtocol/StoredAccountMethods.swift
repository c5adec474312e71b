/// An account as `account list --json` prints it.
public struct AccountSummary: Codable, Sendable, Equatable {
  public var account: String
  public var domain: String
  public var `default`: Bool
  /// Logged in, and logged in again by the agent when it starts.
  public var isLogin: Bool
  public var store: StorePolicy

  public init(account: String, domain: String, default isDefault: Bool, isLogin: Bool, store: StorePolicy) {
    self.account = account
    self.domain = domain
    self.default = isDefault
    self.isLogin = isLogin
    self.store = store
  }
}

/// The stored accounts.
public enum AccountListMethod: AgentMethod {
  public static let name = "account.list"
  public static let isQuestion = true
  public static let isIdempotent = true
  public typealias Parameters = Nothing
  public typealias Result = [AccountSummary]
}

/// Makes a stored account the default one, and tells what is stored of it.
public enum AccountUseMethod: AgentMethod {
  public static let name = "account.use"
  public static let isIdempotent = true
  public struct Parameters: MethodParameters {
    public var account: String
    public init(account: String) { self.account = account }
  }
  public typealias Result = AccountSummary
}

/// The account of the last login, which the next one proposes.
public enum AccountLastMethod: AgentMethod {
  public static let name = "account.last"
  public static let isQuestion = true
  public static let isIdempotent = true
  public typealias Parameters = Nothing
  public struct Result: Codable, Sendable, Equatable {
    /// Bare JID; absent where none is stored.
    public var account: String?
    public init(account: String?) { self.account = account }
  }
}

/// Which account a spelling means, and what is stored to log it in with.
public enum AccountResolveMethod: AgentMethod {
  public static let name = "account.resolve"
  public static let isQuestion = true
  public static let isIdempotent = true
  public struct Parameters: MethodParameters {
    /// A JID, or an e-mail address with `domain`. Absent: the default account.
    public var account: String?
    /// The domain of the account that an e-mail address stands for (XEP-0106).
    public var domain: String?
    /// The request fails where the account is not stored.
    @Default<False> public var isStored: Bool
    /// Kind of login that ``Result/hasSecret`` is about; absent: any.
    public var kind: LoginKind?
    public init(account: String?, domain: String? = nil, isStored: Bool = false, kind: LoginKind? = nil) {
      self.account = account
      self.domain = domain
      self.isStored = isStored
      self.kind = kind
    }
  }
  public struct Result: Codable, Sendable, Equatable {
    /// Bare JID.
    public var account: String
    /// Logged in, and logged in again by the agent when it starts.
    public var isLogin: Bool
    /// How the account logs in.
    public var kind: LoginKind
    /// Something is stored that the agent can log in with.
    public var hasSecret: Bool
    /// A password is stored, or what stands for it.
    public var hasPassword: Bool
    public init(
      account: String, isLogin: Bool = false, kind: LoginKind = .password, hasSecret: Bool = false,
      hasPassword: Bool = false
    ) {
      self.account = account
      self.isLogin = isLogin
      self.kind = kind
      self.hasSecret = hasSecret
      self.hasPassword = hasPassword
    }
  }
}

/// Fails where the account may not be logged in without a question.
public enum AccountAllowAutoMethod: AgentMethod {
  public static let name = "account.allowAuto"
  public static let isQuestion = true
  public static let isIdempotent = true
  public struct Parameters: MethodParameters {
    /// Absent: none was named, and none is stored as the last one.
    public var account: String?
    public var forced: Bool
    public init(account: String?, forced: Bool) {
      self.account = account
      self.forced = forced
    }
  }
  public typealias Result = Nothing
}

/// What is remembered of the account's server and is trusted, and the way to forget it.
public enum AccountTrustMethod: AgentMethod {
  public static let name = "account.trust"
  public static let isIdempotent = true
  public struct Parameters: AccountParameters {
    /// Absent: the default account.
    public var account: String?
    /// Forgets what is remembered.
    @Default<False> public var reset: Bool
    public init(account: String?, reset: Bool) {
      self.account = account
      self.reset = reset
    }
  }
  public struct Result: Codable, Sendable, Equatable {
    public var account: String
    @Nullable public var host: String?
    @Nullable public var port: Int?
    @Nullable public var tls: String?
    @Nullable public var mechanism: String?
    @Nullable public var certSHA256: String?
    @Nullable public var caFile: String?
    @Nullable public var stepByStep: Bool?
    public init(account: String) { self.account = account }
  }
}

/// Stores the accounts of a JSON file of another program.
public enum AccountImportMethod: AgentMethod {
  public static let name = "account.import"
  public struct Parameters: MethodParameters {
    /// Path in the directory of the command, which is that of a one-time agent; absent: their standard input.
    public var path: String?
    /// What the file is called in a failure.
    public var name: String
    /// The secret of the file takes the place of a stored one.
    public var replace: Bool
    public init(path: String?, name: String, replace: Bool) {
      self.path = path
      self.name = name
      self.replace = replace
    }
  }
  /// What has become of an account.
  public enum Action: String, Codable, Sendable {
    case added
    /// There was no secret before, or `replace` was given.
    case changed
    /// It is stored with a secret already.
    case kept
  }
  public struct Outcome: Codable, Sendable, Equatable {
    /// Bare JID.
    public var account: String
    public var action: Action
    public init(account: String, action: Action) {
      self.account = account
      self.action = action
    }
  }
  public struct Result: Codable, Sendable, Equatable {
    public var outcomes: [Outcome]
    /// The file can be read by other users, who see the secrets in it.
    public var isOpenToOthers: Bool
    public init(outcomes: [Outcome], isOpenToOthers: Bool) {
      self.outcomes = outcomes
      self.isOpenToOthers = isOpenToOthers
    }
  }
}

/// A stored token as `token list --json` prints it: everything but itself.
public struct TokenSummary: Codable, Sendable, Equatable {
  public enum Use: String, Codable, Sendable {
    /// The server's, for this device (XEP-0484).
    case device
    /// Given with a login.
    case given
    /// The last answer of the token command.
    case issued
  }

  public var account: String
  public var use: Use
  /// How the account logs in.
  public var auth: LoginKind
  /// What the token is for; null where any that carries it will do.
  @Nullable public var mechanism: String?
  /// RFC 3339; null where it is not known.
  @Nullable public var expires: String?
  public var expired: Bool

  public init(
    account: String, use: Use, auth: LoginKind, mechanism: String?, expires: String?, expired: Bool
  ) {
    self.account = account
    self.use = use
    self.auth = auth
    self.expired = expired
    self.mechanism = mechanism
    self.expires = expires
  }
}

/// The tokens that are stored, without themselves: of an account the one that logs in comes first.
public enum TokenListMethod: AgentMethod {
  public static let name = "token.list"
  public static let isQuestion = true
  public static let isIdempotent = true
  public struct Parameters: AccountParameters {
    /// Absent: the default account.
    public var account: String?
    /// Of every account.
    @Default<False> public var all: Bool
    public init(account: String?, all: Bool) {
      self.account = account
      self.all = all
    }
  }
  public typealias Result = [TokenSummary]
}

/// The token that logs in, itself.
public enum TokenPrintMethod: AgentMethod {
  public static let name = "token.print"
  public static let isQuestion = true
  public static let isIdempotent = true
  public struct Parameters: AccountParameters {
    /// Absent: the default account.
    public var account: String?
    public init(account: String?) { self.account = account }
  }
  public struct Result: Codable, Sendable, Equatable {
    public var token: String
    public init(token: String) { self.token = token }
  }
}
