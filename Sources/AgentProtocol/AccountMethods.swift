/// Changes the account's password at its server and in the store.
///
/// The request uses the account's session. Without a session, or with `currentPassword`, it opens a stream of its own.
public enum AccountPasswdMethod: AgentMethod {
  public static let name = "account.passwd"
  public static let asksServer = true
  public struct Parameters: OwnStreamParameters {
    /// Absent: the default account.
    public var account: String?
    public var newPassword: String
    /// The command that printed `newPassword`; it replaces a stored command.
    public var newPasswordCommand: String?
    /// Verified with the server. Absent: the session or the stored credentials suffice.
    public var currentPassword: String?
    /// Options for a stream of its own. Absent ones have their stored value.
    @Default<ConnectionOptions> public var options: ConnectionOptions
    /// Seconds.
    @Default<Seconds<30>> public var timeout: Double
    public init(account: String?, newPassword: String) {
      self.account = account
      self.newPassword = newPassword
    }
    public func validate() throws(RPCError) {
      try check(seconds: timeout)
      try options.validate()
      if newPassword.isEmpty { throw .invalidParameter("newPassword") }
    }
  }
  public struct Result: Codable, Sendable, Equatable {
    /// Bare JID.
    public var account: String
    /// Whether a command is stored, which has to print the new password from now on.
    public var usesCommand: Bool
    public init(account: String, usesCommand: Bool) {
      self.account = account
      self.usesCommand = usesCommand
    }
  }
}

/// Deletes the account at its server, ends its session, and deletes its stored data.
public enum AccountDeleteMethod: AgentMethod {
  public static let name = "account.delete"
  public static let asksServer = true
  public struct Parameters: OwnStreamParameters {
    /// Absent: the default account.
    public var account: String?
    /// Verified with the server. Absent: the session or the stored credentials suffice.
    public var currentPassword: String?
    /// Options for a stream of its own. Absent ones have their stored value.
    @Default<ConnectionOptions> public var options: ConnectionOptions
    /// Seconds.
    @Default<Seconds<30>> public var timeout: Double
    public init(account: String?) { self.account = account }
    public func validate() throws(RPCError) {
      try check(seconds: timeout)
      try options.validate()
    }
  }
  public struct Result: Codable, Sendable, Equatable {
    /// Bare JID.
    public var account: String
    public init(account: String) { self.account = account }
  }
}

/// Ends the account's session, if there is one, and deletes the account's stored data.
public enum AccountRemoveMethod: AgentMethod {
  public static let name = "account.remove"
  public struct Parameters: MethodParameters {
    public var account: String
    public init(account: String) { self.account = account }
  }
  public typealias Result = EmptyObject
}

/// Revokes this device's token at the server and deletes the token.
public enum TokenRevokeMethod: AgentMethod {
  public static let name = "token.revoke"
  public static let asksServer = true
  public struct Parameters: AccountParameters {
    /// Absent: the default account.
    public var account: String?
    /// Seconds.
    @Default<Seconds<20>> public var timeout: Double
    public init(account: String?, timeout: Double = 20) {
      self.account = account
      self.timeout = timeout
    }
    public func validate() throws(RPCError) { try check(seconds: timeout) }
  }
  public struct Result: Codable, Sendable, Equatable {
    /// Whether there was a token.
    public var revoked: Bool
    public init(revoked: Bool) { self.revoked = revoked }
  }
}
