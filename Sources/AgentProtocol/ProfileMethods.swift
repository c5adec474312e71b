/// The profile of a user (XEP-0054).
public struct Profile: Codable, Sendable, Equatable {
  /// The fields of a profile, in the order of display.
  public enum Field: String, Sendable, CaseIterable {
    case name, nickname, email, phone, organization, title, role, birthday, url, jid, note
  }

  /// The JID of the user.
  public var jid: String
  /// The existing fields, by the name of a ``Field``.
  public var fields: [String: String]
  public init(jid: String, fields: [String: String]) {
    self.jid = jid
    self.fields = fields
  }
}

/// Requests a profile.
public enum ProfileGetMethod: AgentMethod {
  public static let name = "profile.get"
  public static let mayBeAbandoned = true
  public static let isIdempotent = true
  public typealias Result = Profile
  public struct Parameters: AccountParameters {
    /// Absent: the default account.
    public var account: String?
    /// The JID of the user; absent: the account's own profile.
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

/// Changes fields of the account's own profile; the other fields remain. The result is the profile that the server has
/// stored.
public enum ProfileSetMethod: AgentMethod {
  public static let name = "profile.set"
  public typealias Result = Profile
  public struct Parameters: AccountParameters {
    /// Absent: the default account.
    public var account: String?
    /// The values by field name; an empty value removes the field.
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
