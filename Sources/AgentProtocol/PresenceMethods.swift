/// What the user calls the kinds of presence. `online` is RFC 6121 availability without `<show/>`,
/// `offline` is unavailability.
public enum PresenceShow: String, Codable, Sendable, CaseIterable {
  case online, chat, away, xa, dnd, offline
}

/// The desired presence, and whether the server has it.
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
  public static let isQuestion = true
  public static let isIdempotent = true
  public static let needsPlace = false
  public struct Parameters: AccountParameters {
    public var account: String?
    public init(account: String?) { self.account = account }
  }
  public typealias Result = PresenceStatus
}

/// Sets the desired presence, sends it when online, stores it always.
public enum PresenceSetMethod: AgentMethod {
  public static let name = "presence.set"
  public static let isIdempotent = true
  public static func keepsPlace(_ parameters: Parameters) -> Bool { parameters.hold }

  /// Octets of a status text.
  static let maximumStatus = 10_000

  public struct Parameters: AccountParameters {
    public var account: String?
    public var show: PresenceShow
    public var status: String?
    /// Absent: the priority stays.
    public var priority: Int?
    /// Directed presence (RFC 6121 §4.6) to this JID; desired presence stays.
    public var to: String?
    /// Seconds after which what was before comes back.
    public var duration: Double?
    /// Held while this connection to the agent lives; of overlapping holds the newest alive wins.
    @Default<False> public var hold: Bool
    /// When the hold began, in seconds since 1970, where it goes on with another agent; absent: now.
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
