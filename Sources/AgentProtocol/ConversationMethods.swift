/// A conversation, as `conversations list --json` prints it.
public struct Conversation: Codable, Sendable, Equatable {
  /// A bare JID, or the full JID of another device of the account.
  public var jid: String
  /// Messages of the other side that were not read on any device of the account.
  public var unread: Int
  public var pinned: Bool
  public var muted: Bool
  public var marks: [String]
  /// The newest message, an event `message`; null where there is none.
  @Nullable public var last: Event?
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
}

/// Changes what belongs to a conversation. It is stored at once; the account's other devices are told now, or when the
/// session is online the next time.
public enum ConversationsChangeMethod: AgentMethod {
  public static let name = "conversations.change"

  /// Marks of a conversation, and octets of each.
  package static let maximumMarks = 32
  package static let maximumMark = 256

  public enum Change: String, Codable, Sendable, CaseIterable {
    case read, pin, unpin, mute, unmute, mark, clear, delete
  }

  public struct Parameters: AccountParameters {
    /// Absent: the default account.
    public var account: String?
    public var change: Change
    public var jid: String
    /// With `mark`: marks to add and to remove.
    @Default<NoStrings> public var adds: [String]
    @Default<NoStrings> public var removes: [String]
    /// With `clear`: the messages are to be removed from the account's archive first, by ejabberd's API at this address;
    /// empty: where it is by default. Where that fails nothing is changed.
    public var purge: String?
    /// Seconds; 0: no bound. The change is stored in any case.
    @Default<Seconds<10>> public var timeout: Double
    public init(account: String?, _ change: Change, jid: String) {
      self.account = account
      self.change = change
      self.jid = jid
    }

    public func validate() throws(RPCError) {
      try check(seconds: timeout)
      for (name, marks) in [("adds", adds), ("removes", removes)] {
        let areMarks = marks.allSatisfy { (1...maximumMark).contains($0.utf8.count) && $0.isOneLine }
        if marks.count > maximumMarks || !areMarks { throw .invalidParameter(name) }
      }
      if (change == .mark) == (adds.isEmpty && removes.isEmpty) { throw .invalidParameter("adds") }
    }
  }

  public struct Result: Codable, Sendable, Equatable {
    public var jid: String
    /// What has changed; null: it was so already.
    @Nullable public var action: ConversationEvent.Action?
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
  }
}
