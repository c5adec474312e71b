/// Ends a session: flush, unavailable, close.
public enum LogoutMethod: AgentMethod {
  public static let name = "logout"
  public static let asksServer = true
  public static let needsPlace = false
  public struct Parameters: AccountParameters {
    public var account: String?
    @Default<False> public var all: Bool
    @Default<False> public var forget: Bool
    @Default<False> public var force: Bool
    /// Seconds to wait for acknowledgements.
    @Default<Seconds<10>> public var flush: Double
    /// The server is told to forget its token for this device.
    @Default<False> public var revoke: Bool
    /// Seconds for which the caller waits, within which everything else is divided; 0: no bound.
    @Default<Seconds<0>> public var timeout: Double
    public init(account: String?) { self.account = account }
    public func validate() throws(RPCError) {
      try check(seconds: flush, "flush")
      try check(seconds: timeout)
    }
  }
  public struct Result: Codable, Sendable, Equatable {
    /// Bare JIDs that were logged out.
    public var accounts: [String]
    /// Messages that could not be sent, and are sent after the next login.
    public var unsent: Int
    /// Why the server has not forgotten a token, which is kept for `token.revoke`. Absent: nothing went wrong.
    public var unrevoked: Failure?
    /// Why it could not be stored that they are logged out: the next agent logs them in. Absent: nothing went wrong.
    public var unstored: Failure?
    /// What stays stored of the secrets, by account; absent where nothing does.
    public var kept: [String: StorePolicy]?
    public init(accounts: [String], unsent: Int = 0, unrevoked: Failure? = nil) {
      self.accounts = accounts
      self.unsent = unsent
      self.unrevoked = unrevoked
    }

    /// The end of other sessions, too.
    public mutating func add(_ other: Self) {
      accounts += other.accounts
      unsent += other.unsent
      unrevoked = unrevoked ?? other.unrevoked
      unstored = unstored ?? other.unstored
      if let others = other.kept { kept = (kept ?? [:]).merging(others) { $1 } }
    }
  }
}
