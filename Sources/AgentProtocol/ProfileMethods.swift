/// What somebody tells of themself (XEP-0054).
public struct Profile: Codable, Sendable, Equatable {
  /// What there may be in a profile, in the order in which it is shown.
  public enum Field: String, Sendable, CaseIterable {
    case name, nickname, email, phone, organization, title, role, birthday, url, jid, note
  }

  /// Whose it is.
  public var jid: String
  /// By the name of a ``Field``, those that are there.
  public var fields: [String: String]
  public init(jid: String, fields: [String: String]) {
    self.jid = jid
    self.fields = fields
  }
}

/// Asks for a profile.
public enum ProfileGetMethod: AgentMethod {
  public static let name = "profile.get"
  public static let isQuestion = true
  public static let isIdempotent = true
  public typealias Result = Profile
  public struct Parameters: AccountParameters {
    /// Absent: the default account.
    public var account: String?
    /// Whose profile; absent: the account's own.
    public var jid: String?
    /// Seconds.
    public var timeout: Double
    public init(account: String?, jid: String? = nil, timeout: Double = 10) {
      self.account = account
      self.jid = jid
      self.timeout = timeout
    }
    public func validate() throws(RPCError) { try check(seconds: timeout) }
  }
}

/// Changes fields of the account's own profile; the others stay. The result is what the server has kept.
public enum ProfileSetMethod: AgentMethod {
  public static let name = "profile.set"
  public typealias Result = Profile
  public struct Parameters: AccountParameters {
    /// Absent: the default account.
    public var account: String?
    /// By name; an empty text removes a field.
    public var fields: [String: String]
    /// Seconds.
    public var timeout: Double
    public init(account: String?, fields: [String: String], timeout: Double = 10) {
      self.account = account
      self.fields = fields
      self.timeout = timeout
    }
    public func validate() throws(RPCError) { try check(seconds: timeout) }
  }
}
