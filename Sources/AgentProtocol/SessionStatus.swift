/// One object of `status --json`.
public struct SessionStatus: Codable, Sendable, Equatable {
  public struct Server: Codable, Sendable, Equatable {
    @Nullable public var host: String?
    @Nullable public var port: Int?
    @Nullable public var tls: TLSSummary?
    @Nullable public var mechanism: String?
    @Nullable public var software: String?
    /// What the login took, from TCP connect to a bound resource.
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
  /// Attempts to come online so far; absent while online or offline.
  public var attempt: Int?
  /// Messages that were accepted and that the server is not known to have.
  public var queued: Int = 0
  /// Messages that were sent again though the server may have had them, since the agent was started.
  public var uncertain: Int = 0
  /// How much of what came was refused since the agent was started, by why: `carbon archive push receipt
  /// approval request stanza`. Absent: nothing.
  public var refused: [String: Int]?
  /// What the session does while the user looks away; null: the user is there.
  @Nullable public var idle: IdleMode?
  /// Why the session is in this state, where it is a failure.
  public var cause: Failure?
  /// What keeps the agent from working as it should, whatever the state is: the stored accounts cannot be read, the local
  /// store was damaged or cannot be written. Absent: nothing.
  public var warnings: [Failure]?
  public init(account: String, state: SessionState) {
    self.account = account
    self.state = state
  }
  /// `status` exits 0: the session is bound and synced (or syncing).
  public var isOnline: Bool { state == .syncOK || state == .syncing || state == .loginOK }
}
