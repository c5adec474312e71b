/// Enables or disables push notifications (XEP-0357), with which the server tells a push service about stanzas while no
/// device is connected. The session must be online; the answer comes when the server has answered.
public enum PushMethod: AgentMethod {
  public static let name = "push"
  public static let isIdempotent = true

  public struct Parameters: AccountParameters, Equatable {
    /// Absent: the default account.
    public var account: String?
    /// True enables, false disables.
    public var enabled: Bool
    /// The JID of the push service.
    public var service: String
    /// The node for this device at the service. May be absent only with `enabled` false, for all nodes of the service.
    public var node: String?
    /// The secret that the service requires in each notification.
    public var secret: String?
    /// The time limit of the server's answer in seconds.
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

  /// The new state.
  public struct Result: Codable, Sendable, Equatable {
    public var service: String
    /// Null for all nodes of the service.
    @Nullable public var node: String?
    public var enabled: Bool

    public init(service: String, node: String?, enabled: Bool) {
      self.service = service
      self.node = node
      self.enabled = enabled
    }
  }
}
