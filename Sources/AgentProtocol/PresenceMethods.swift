/// The kinds of presence. `online` is RFC 6121 availability without `<show/>`; `offline` is unavailability.
public enum PresenceShow: String, Codable, Sendable, CaseIterable {
  case online, chat, away, xa, dnd, offline
}

/// The desired presence, and whether the server has received it.
public struct PresenceStatus: Codable, Sendable, Equatable {
  public var show: PresenceShow
  @Nullable public var status: String?
  public var priority: Int
  public var applied: Bool
  public init(show: PresenceShow, status: String?, priority: Int, applied: Bool) {
    self.show = show
    self.status = status
    self.priority = priority
    self.applied = applied
  }
}

/// The desired presence of an account.
public enum PresenceGetMethod: AgentMethod {
  public static let name = "presence.get"
  public static let mayBeAbandoned = true
  public static let isIdempotent = true
  public static let needsPlace = false
  public struct Parameters: AccountParameters {
    public var account: String?
    public init(account: String?) { self.account = account }
  }
  public typealias Result = PresenceStatus
}

/// Sets and stores the desired presence, and sends it if the session is online.
public enum PresenceSetMethod: AgentMethod {
  public static let name = "presence.set"
  public static let isIdempotent = true
  public static func occupiesPlaceAfterAnswer(_ parameters: Parameters) -> Bool { parameters.hold }

  /// The maximum length of a status text in octets.
  static let maximumStatus = 10_000

  public struct Parameters: AccountParameters {
    public var account: String?
    public var show: PresenceShow
    public var status: String?
    /// Absent: the priority does not change.
    public var priority: Int?
    /// Sends directed presence (RFC 6121 §4.6) to this JID; the desired presence does not change.
    public var to: String?
    /// Seconds after which the previous presence returns.
    public var duration: Double?
    /// Whether the presence applies only while this connection to the agent is open. The newest of several open holds
    /// applies.
    @Default<False> public var hold: Bool
    /// When the hold began, in seconds since 1970, if it continues with a new agent; absent: now.
    public var since: Double?
    public init(account: String?, show: PresenceShow) {
      self.account = account
      self.show = show
    }
    public func validate() throws(RPCError) {
      if let priority, !(-128...127).contains(priority) { throw .invalidParameter("priority") }
      if let duration { try check(seconds: duration, "duration") }
      if let since, since < 0 { throw .invalidParameter("since") }
      if let status, status.utf8.count > maximumStatus { throw .invalidParameter("status") }
    }
  }
  public typealias Result = PresenceStatus
}
