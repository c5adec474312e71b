/// One object of `status --json`.
public struct SessionStatus: Codable, Sendable, Equatable {
  public struct Server: Codable, Sendable, Equatable {
    public var host: String?
    public var port: Int?
    public var tls: TLSSummary?
    public var mechanism: String?
    public var software: String?
    /// What the login took, from TCP connect to a bound resource.
    public var roundTrips: Int?
    public init() {}
  }
  public var account: String
  public var state: SessionState
  public var fullJID: String?
  /// RFC 3339: when `state` was entered.
  public var since: String?
  public var presence: PresenceStatus?
  public var server: Server?
  public var resumable: Bool = false
  public var sessions: Int = 0
  public var resumes: Int = 0
  public var lastSeen: String?
  public var nextRetry: String?
  /// Attempts to come online so far; absent while online or offline.
  public var attempt: Int?
  /// Messages that were accepted and that the server is not known to have.
  public var queued: Int = 0
  /// Messages that were sent again though the server may have had them, since the agent was started.
  public var uncertain: Int = 0
  /// How much of what came was refused since the agent was started, by why: `carbon archive push receipt
  /// approval request stanza`. Absent: nothing.
  public var refused: [String: Int]?
  /// What the session does while the user looks away; absent: the user is there.
  public var idle: IdleMode?
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

// What scripts read has every key, null where there is no value.

extension SessionStatus {
  /// `cause`, `attempt`, `warnings` and `refused` alone may be absent.
  public func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: CodingKeys.self)
    try fields.encode(account, forKey: .account)
    try fields.encode(state, forKey: .state)
    try fields.encode(fullJID, forKey: .fullJID)
    try fields.encode(since, forKey: .since)
    try fields.encode(presence, forKey: .presence)
    try fields.encode(server, forKey: .server)
    try fields.encode(resumable, forKey: .resumable)
    try fields.encode(sessions, forKey: .sessions)
    try fields.encode(resumes, forKey: .resumes)
    try fields.encode(lastSeen, forKey: .lastSeen)
    try fields.encode(nextRetry, forKey: .nextRetry)
    try fields.encodeIfPresent(attempt, forKey: .attempt)
    try fields.encode(queued, forKey: .queued)
    try fields.encode(idle, forKey: .idle)
    try fields.encode(uncertain, forKey: .uncertain)
    try fields.encodeIfPresent(cause, forKey: .cause)
    try fields.encodeIfPresent(warnings, forKey: .warnings)
    try fields.encodeIfPresent(refused, forKey: .refused)
  }
}

extension SessionStatus.Server {
  public func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: CodingKeys.self)
    try fields.encode(host, forKey: .host)
    try fields.encode(port, forKey: .port)
    try fields.encode(tls, forKey: .tls)
    try fields.encode(mechanism, forKey: .mechanism)
    try fields.encode(software, forKey: .software)
    try fields.encode(roundTrips, forKey: .roundTrips)
  }
}
