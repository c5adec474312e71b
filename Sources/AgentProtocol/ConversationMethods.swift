/// A conversation, as `conversations list --json` prints it.
public struct Conversation: Encodable, Sendable, Equatable {
  /// A bare JID, or the full JID of another device of the account.
  public var jid: String
  /// Messages of the other side that were not read on any device of the account.
  public var unread: Int
  public var pinned: Bool
  public var muted: Bool
  public var marks: [String]
  /// The newest message, an event `message`; null where there is none.
  public var last: Event?
  /// Something of it was set and is not known to the account's other devices yet.
  public var pending: Bool

  public init(
    jid: String, unread: Int, pinned: Bool, muted: Bool, marks: [String], last: Event?, pending: Bool
  ) {
    self.jid = jid
    self.unread = unread
    self.pinned = pinned
    self.muted = muted
    self.marks = marks
    self.last = last
    self.pending = pending
  }

  private enum Key: String, CodingKey { case jid, unread, pinned, muted, marks, last, pending }

  /// Every key is written; what is not there is null.
  public func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: Key.self)
    try fields.encode(jid, forKey: .jid)
    try fields.encode(unread, forKey: .unread)
    try fields.encode(pinned, forKey: .pinned)
    try fields.encode(muted, forKey: .muted)
    try fields.encode(marks, forKey: .marks)
    try fields.encode(last, forKey: .last)
    try fields.encode(pending, forKey: .pending)
  }
}

/// Changes what belongs to a conversation. It is stored at once; the account's other devices are told now, or when the
/// session is online the next time.
public enum ConversationsChangeMethod: AgentMethod {
  public static let name = "conversations.change"

  public enum Change: String, Codable, Sendable, CaseIterable {
    case read, pin, unpin, mute, unmute, mark, clear, delete
  }

  public struct Parameters: Codable, Sendable {
    /// Absent: the default account.
    public var account: String?
    public var change: Change
    public var jid: String
    /// With `mark`: marks to add and to remove.
    public var adds: [String]
    public var removes: [String]
    /// With `clear`: the messages are to be removed from the account's archive first, by ejabberd's API at this address;
    /// empty: where it is by default. Where that fails nothing is changed.
    public var purge: String?
    /// Seconds; 0: no bound. The change is stored in any case.
    public var timeout: Double
    public init(account: String?, _ change: Change, jid: String) {
      self.account = account
      self.change = change
      self.jid = jid
      adds = []
      removes = []
      timeout = 10
    }
  }

  public struct Result: Codable, Sendable, Equatable {
    public var jid: String
    /// What has changed; null: it was so already.
    public var action: ConversationEvent.Action?
    /// The account's other devices can know of it.
    public var published: Bool
    /// Why they cannot, where a server was asked.
    public var cause: Failure?
    public init(
      jid: String, action: ConversationEvent.Action?, published: Bool, cause: Failure? = nil
    ) {
      self.jid = jid
      self.action = action
      self.published = published
      self.cause = cause
    }

    public func encode(to encoder: any Encoder) throws {
      var fields = encoder.container(keyedBy: CodingKeys.self)
      try fields.encode(jid, forKey: .jid)
      try fields.encode(action, forKey: .action)
      try fields.encode(published, forKey: .published)
      try fields.encodeIfPresent(cause, forKey: .cause)
    }
  }
}

extension ConversationsChangeMethod.Parameters {
  /// Absent: no `adds`, no `removes`, 10 seconds.
  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      account: try fields.decodeIfPresent(String.self, forKey: .account),
      try fields.decode(ConversationsChangeMethod.Change.self, forKey: .change),
      jid: try fields.decode(String.self, forKey: .jid))
    adds = try fields.decodeIfPresent([String].self, forKey: .adds) ?? []
    removes = try fields.decodeIfPresent([String].self, forKey: .removes) ?? []
    purge = try fields.decodeIfPresent(String.self, forKey: .purge)
    timeout = try fields.number(Double.self, forKey: .timeout) ?? timeout
  }
}
