/// Changes the account's password at its server, and what is stored of it.
///
/// On the session where there is one, else, or where `currentPassword` is given, on a stream of its own.
public enum AccountPasswdMethod: AgentMethod {
  public static let name = "account.passwd"
  public struct Parameters: Codable, Sendable {
    /// Absent: the default account.
    public var account: String?
    public var newPassword: String
    /// The command that printed `newPassword`: it takes the place of a stored one.
    public var newPasswordCommand: String?
    /// Verified with the server. Absent: the session, or what is stored, is enough.
    public var currentPassword: String?
    /// Only the options given now; absent ones have their stored value. For a stream of its own.
    public var options: ConnectionOptions
    /// Seconds.
    public var timeout: Double
    public init(account: String?, newPassword: String) {
      self.account = account
      self.newPassword = newPassword
      options = ConnectionOptions()
      timeout = 30
    }
  }
  public struct Result: Codable, Sendable, Equatable {
    /// Bare JID.
    public var account: String
    /// A command is stored that has to print the new password from now on.
    public var usesCommand: Bool
    public init(account: String, usesCommand: Bool) {
      self.account = account
      self.usesCommand = usesCommand
    }
  }
}

/// Deletes the account at its server, ends its session, and deletes what is stored of it.
public enum AccountDeleteMethod: AgentMethod {
  public static let name = "account.delete"
  public struct Parameters: Codable, Sendable {
    /// Absent: the default account.
    public var account: String?
    /// Verified with the server. Absent: the session, or what is stored, is enough.
    public var currentPassword: String?
    /// Only the options given now; absent ones have their stored value. For a stream of its own.
    public var options: ConnectionOptions
    /// Seconds.
    public var timeout: Double
    public init(account: String?) {
      self.account = account
      options = ConnectionOptions()
      timeout = 30
    }
  }
  public struct Result: Codable, Sendable, Equatable {
    /// Bare JID.
    public var account: String
    public init(account: String) { self.account = account }
  }
}

extension AccountPasswdMethod.Parameters {
  /// Absent fields have the value that ``init(account:newPassword:)`` gives them.
  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      account: try fields.decodeIfPresent(String.self, forKey: .account),
      newPassword: try fields.decode(String.self, forKey: .newPassword))
    newPasswordCommand = try fields.decodeIfPresent(String.self, forKey: .newPasswordCommand)
    currentPassword = try fields.decodeIfPresent(String.self, forKey: .currentPassword)
    options = try fields.number(ConnectionOptions.self, forKey: .options) ?? options
    timeout = try fields.number(Double.self, forKey: .timeout) ?? timeout
  }
}

extension AccountDeleteMethod.Parameters {
  /// Absent fields have the value that ``init(account:)`` gives them.
  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    self.init(account: try fields.decodeIfPresent(String.self, forKey: .account))
    currentPassword = try fields.decodeIfPresent(String.self, forKey: .currentPassword)
    options = try fields.number(ConnectionOptions.self, forKey: .options) ?? options
    timeout = try fields.number(Double.self, forKey: .timeout) ?? timeout
  }
}
