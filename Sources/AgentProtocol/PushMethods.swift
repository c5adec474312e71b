/// Has the server tell a push service of what comes while no device is there, or no more; answered when the server does.
/// The session has to be online.
public enum PushMethod: AgentMethod {
  public static let name = "push"
  public static let isIdempotent = true

  public struct Parameters: AccountParameters, Equatable {
    /// Absent: the default account.
    public var account: String?
    /// True: from now on; false: no more.
    public var enabled: Bool
    /// JID of the service.
    public var service: String
    /// What the service knows this device by; absent only with `enabled` false: all nodes of the service.
    public var node: String?
    /// What the service wants to see with each notification.
    public var secret: String?
    /// Seconds for the answer of the server.
    public var timeout: Double

    public init(account: String?, enabled: Bool, service: String, node: String?) {
      self.account = account
      self.enabled = enabled
      self.service = service
      self.node = node
      timeout = 10
    }

    public func validate() throws(RPCError) {
      try check(seconds: timeout)
      if node?.isEmpty ?? enabled { throw .invalidParameter("node") }
    }
  }

  /// What it is now.
  public struct Result: Codable, Sendable, Equatable {
    public var service: String
    /// Null: it is all nodes of the service.
    @Nullable public var node: String?
    public var enabled: Bool

    public init(service: String, node: String?, enabled: Bool) {
      self.service = service
      self.node = node
      self.enabled = enabled
    }
  }
}
