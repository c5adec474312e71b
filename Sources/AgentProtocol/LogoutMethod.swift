/// Ends a session: waits for acknowledgements, sends unavailable presence and closes the stream.
public enum LogoutMethod: AgentMethod {
  public static let name = "logout"
  public static let asksServer = true
  public static let needsPlace = false
  public struct Parameters: AccountParameters {
    public var account: String?
    @Default<False> public var all: Bool
    @Default<False> public var forget: Bool
    @Default<False> public var force: Bool
    /// The time limit of the wait for acknowledgements, in seconds.
    @Default<Seconds<10>> public var flush: Double
    /// Whether to revoke this device's token at the server.
    @Default<False> public var revoke: Bool
    /// The time limit of the whole request in seconds; 0: none.
    @Default<Seconds<0>> public var timeout: Double
    public init(account: String?) { self.account = account }
    public func validate() throws(RPCError) {
      try check(seconds: flush, "flush")
      try check(seconds: timeout)
    }
  }
  public struct Result: Codable, Sendable, Equatable {
    /// The bare JIDs that were logged out.
    public var accounts: [String]
    /// The number of unsent messages, which will be sent after the next login.
    public var unsent: Int
    /// Why the server did not revoke a token, which remains stored for `token.revoke`. Absent: no error.
    public var unrevoked: Failure?
    /// Why the logout could not be stored, so that the next agent will log the accounts in. Absent: no error.
    public var unstored: Failure?
    /// The form in which secrets remain stored, by account; absent if none do.
    public var kept: [String: StorePolicy]?
    public init(accounts: [String], unsent: Int = 0, unrevoked: Failure? = nil) {
      self.accounts = accounts
      self.unsent = unsent
      self.unrevoked = unrevoked
    }

    /// Adds the result of other sessions.
    public mutating func add(_ other: Self) {
      accounts += other.accounts
      unsent += other.unsent
      unrevoked = unrevoked ?? other.unrevoked
      unstored = unstored ?? other.unstored
      if let others = other.kept { kept = (kept ?? [:]).merging(others) { $1 } }
    }
  }
}
