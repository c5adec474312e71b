/// An account as `account list --json` prints it.
public struct AccountSummary: Codable, Sendable, Equatable {
  public var account: String
  public var domain: String
  public var `default`: Bool
  /// Whether the account is logged in, so that the agent logs it in again when it starts.
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
  public static let mayBeAbandoned = true
  public static let isIdempotent = true
  public typealias Parameters = EmptyObject
  public typealias Result = [AccountSummary]
}

/// Makes a stored account the default, and returns its summary.
public enum AccountUseMethod: AgentMethod {
  public static let name = "account.use"
  public static let isIdempotent = true
  public struct Parameters: MethodParameters {
    public var account: String
    public init(account: String) { self.account = account }
  }
  public typealias Result = AccountSummary
}

/// The account of the last login, which the next login proposes.
public enum AccountLastMethod: AgentMethod {
  public static let name = "account.last"
  public static let mayBeAbandoned = true
  public static let isIdempotent = true
  public typealias Parameters = EmptyObject
  public struct Result: Codable, Sendable, Equatable {
    /// The bare JID; absent if none is stored.
    public var account: String?
    public init(account: String?) { self.account = account }
  }
}

/// Resolves an account as a user spells it, and reports which of its credentials are stored.
public enum AccountResolveMethod: AgentMethod {
  public static let name = "account.resolve"
  public static let mayBeAbandoned = true
  public static let isIdempotent = true
  public struct Parameters: MethodParameters {
    /// A JID, or an e-mail address with `domain`. Absent: the default account.
    public var account: String?
    /// The domain of the account for an e-mail address (XEP-0106).
    public var domain: String?
    /// Whether the request fails for an account that is not stored.
    @Default<False> public var isStored: Bool
    /// The kind of login to which ``Result/hasSecret`` refers; absent: any.
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
    /// Whether the account is logged in, so that the agent logs it in again when it starts.
    public var isLogin: Bool
    /// The account's kind of login.
    public var kind: LoginKind
    /// Whether credentials are stored with which the agent can log in.
    public var hasSecret: Bool
    /// Whether a password, or its equivalent, is stored.
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

/// Fails if the account may not be logged in automatically.
public enum AccountAllowAutoMethod: AgentMethod {
  public static let name = "account.allowAuto"
  public static let mayBeAbandoned = true
  public static let isIdempotent = true
  public struct Parameters: MethodParameters {
    /// Absent: no account was named, and no last account is stored.
    public var account: String?
    public var forced: Bool
    public init(account: String?, forced: Bool) {
      self.account = account
      self.forced = forced
    }
  }
  public typealias Result = EmptyObject
}

/// Shows or resets what is remembered about the account's server and trusted.
public enum AccountTrustMethod: AgentMethod {
  public static let name = "account.trust"
  public static let isIdempotent = true
  public struct Parameters: AccountParameters {
    /// Absent: the default account.
    public var account: String?
    /// Whether to reset the remembered data.
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

/// Imports the accounts of a JSON file from another program.
public enum AccountImportMethod: AgentMethod {
  public static let name = "account.import"
  public struct Parameters: MethodParameters {
    /// The path relative to the directory of the command, which a one-time agent shares; absent: their standard input.
    public var path: String?
    /// The name of the file in failures.
    public var name: String
    /// Whether a secret in the file replaces a stored one.
    public var replace: Bool
    public init(path: String?, name: String, replace: Bool) {
      self.path = path
      self.name = name
      self.replace = replace
    }
  }
  /// The result for an account.
  public enum Action: String, Codable, Sendable {
    case added
    /// The account had no secret before, or `replace` was true.
    case changed
    /// The account was stored with a secret already.
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
    /// Whether other users can read the file, and therefore its secrets.
    public var isOpenToOthers: Bool
    public init(outcomes: [Outcome], isOpenToOthers: Bool) {
      self.outcomes = outcomes
      self.isOpenToOthers = isOpenToOthers
    }
  }
}

/// A stored token as `token list --json` prints it, without the token itself.
public struct TokenSummary: Codable, Sendable, Equatable {
  public enum Use: String, Codable, Sendable {
    /// The server's token for this device (XEP-0484).
    case device
    /// A token that was given with a login.
    case given
    /// The last token from the token command.
    case issued
  }

  public var account: String
  public var use: Use
  /// The account's kind of login.
  public var auth: LoginKind
  /// The mechanism of the token; null if it can be used with several.
  @Nullable public var mechanism: String?
  /// RFC 3339; null if unknown.
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

/// The stored tokens, without the tokens themselves; for each account, the one that logs in comes first.
public enum TokenListMethod: AgentMethod {
  public static let name = "token.list"
  public static let mayBeAbandoned = true
  public static let isIdempotent = true
  public struct Parameters: AccountParameters {
    /// Absent: the default account.
    public var account: String?
    /// Whether to list the tokens of all accounts.
    @Default<False> public var all: Bool
    public init(account: String?, all: Bool) {
      self.account = account
      self.all = all
    }
  }
  public typealias Result = [TokenSummary]
}

/// The value of the token that logs in.
public enum TokenPrintMethod: AgentMethod {
  public static let name = "token.print"
  public static let mayBeAbandoned = true
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
