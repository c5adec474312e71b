/// One object of `status --json`.
public struct SessionStatus: Codable, Sendable, Equatable {
  public struct Server: Codable, Sendable, Equatable {
    @Nullable public var host: String?
    @Nullable public var port: Int?
    @Nullable public var tls: TLSSummary?
    @Nullable public var mechanism: String?
    @Nullable public var software: String?
    /// The number of round trips of the login, from the TCP connection to the bound resource.
    @Nullable public var roundTrips: Int?
    public init() {}
  }
  public var account: String
  public var state: SessionState
  @Nullable public var fullJID: String?
  /// RFC 3339: when `state` was entered.
  @Nullable public var since: String?
  @Nullable public var presence: PresenceStatus?
  @Nullable public var server: Server?
  public var resumable: Bool = false
  public var sessions: Int = 0
  public var resumes: Int = 0
  @Nullable public var lastSeen: String?
  @Nullable public var nextRetry: String?
  /// The number of attempts to come online so far; absent while online or offline.
  public var attempt: Int?
  /// The number of accepted messages that the server is not known to have received.
  public var queued: Int = 0
  /// The number of messages that were sent again since the agent's start, although the server may have received them.
  public var uncertain: Int = 0
  /// The numbers of refused incoming items since the agent's start, by reason: `carbon archive push receipt approval
  /// request stanza`. Absent: none.
  public var refused: [String: Int]?
  /// What the session does while the user is inactive; null: the user is active.
  @Nullable public var idle: IdleMode?
  /// The failure that led to this state, if any.
  public var cause: Failure?
  /// Problems of the agent that do not depend on the state: the stored accounts cannot be read, or the local store was
  /// damaged or cannot be written. Absent: none.
  public var warnings: [Failure]?
  public init(account: String, state: SessionState) {
    self.account = account
    self.state = state
  }
  /// Whether the session is bound and synchronised, or synchronising, so that `status` exits with 0.
  public var isOnline: Bool { state == .syncOK || state == .syncing || state == .loginOK }
}
