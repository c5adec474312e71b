/// A conversation, as `conversations list --json` prints it.
public struct Conversation: Codable, Sendable, Equatable {
  /// A bare JID, or the full JID of another device of the account.
  public var jid: String
  /// The number of messages from the other side that no device of the account has read.
  public var unread: Int
  public var pinned: Bool
  public var muted: Bool
  public var marks: [String]
  /// The newest message as an event `message`; null if there is none.
  @Nullable public var last: Event?
  /// Whether a change has not been published to the account's other devices yet.
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

/// Changes the settings of a conversation. The change is stored at once; it is published to the account's other devices
/// now, or when the session is next online.
public enum ConversationsChangeMethod: AgentMethod {
  public static let name = "conversations.change"

  /// The maximum number of a conversation's marks, and the maximum length of each in octets.
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
    /// With `mark`: the marks to add and to remove.
    @Default<NoStrings> public var adds: [String]
    @Default<NoStrings> public var removes: [String]
    /// With `clear`: removes the messages from the account's archive first, through ejabberd's API at this address;
    /// empty: its default address. If that fails, nothing is changed.
    public var purge: String?
    /// The time limit in seconds; 0: none. The change is stored in any case.
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
    /// The change; null if nothing had to be changed.
    @Nullable public var action: ConversationEvent.Action?
    /// Whether the change has been published to the account's other devices.
    public var published: Bool
    /// Why the server did not publish the change.
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
