/// The states of the sessions, as `status --json` prints them: one object for each account.
public enum StatusMethod: AgentMethod {
  public static let name = "status"
  public static let mayBeAbandoned = true
  public static let isIdempotent = true
  public static let needsPlace = false
  public struct Parameters: AccountParameters {
    public var account: String?
    @Default<False> public var all: Bool
    /// Whether to probe the servers first; a session whose server does not answer is not online.
    @Default<False> public var probe: Bool
    /// The time limit of a server's answer in seconds.
    @Default<Seconds<5>> public var timeout: Double
    public init(account: String?, all: Bool = false, probe: Bool = false, timeout: Double = 5) {
      self.account = account
      self.all = all
      self.probe = probe
      self.timeout = timeout
    }
    public func validate() throws(RPCError) { try check(seconds: timeout) }
  }
  public typealias Result = [SessionStatus]
}
