/// Reads messages from the local store. Each is sent as an item, which is an event `message`, or a ``Shown`` one.
public enum HistoryReadMethod: AgentMethod {
  public static let name = "history.read"
  public static let mayBeAbandoned = true
  public static let isIdempotent = true
  public struct Parameters: AccountParameters {
    /// Absent: the default account.
    public var account: String?
    /// A recipient as a user names it, to select the messages of one conversation.
    public var with: String?
    public var thread: String?
    /// Search words, all of which a message must contain.
    @Default<NoStrings> public var words: [String]
    /// True: each corrected message once, with its newest text. False: every event as it was received.
    @Default<False> public var isFolded: Bool
    @Default<False> public var newestFirst: Bool
    /// Whether each item is a ``Shown`` event.
    @Default<False> public var hasAppearances: Bool
    /// Seconds since 1970: the earliest time (inclusive) and the latest time (exclusive).
    public var after: Double?
    public var before: Double?
    /// The maximum number of messages, of which the newest are chosen; absent: all.
    public var limit: Int?
    public init(account: String?) { self.account = account }
    public func validate() throws(RPCError) {
      if let limit, limit < 1 { throw .invalidParameter("limit") }
    }
  }
  public typealias Result = EmptyObject
}

/// A thread as `threads list --json` prints it.
public struct MessageThread: Codable, Sendable, Equatable {
  /// The JID of the conversation.
  public var jid: String
  /// The thread's id, which its first sender has chosen.
  public var thread: String
  public var messages: Int
  /// RFC 3339: when the first and the last message were sent.
  public var first: String
  public var last: String

  public init(jid: String, thread: String, messages: Int, first: String, last: String) {
    self.jid = jid
    self.thread = thread
    self.messages = messages
    self.first = first
    self.last = last
  }
}

/// The threads of stored messages, newest message first. Each is sent as an item of type ``MessageThread``, or as
/// a ``Shown`` one.
public enum ThreadsListMethod: AgentMethod {
  public static let name = "threads.list"
  public static let mayBeAbandoned = true
  public static let isIdempotent = true
  public struct Parameters: AccountParameters {
    /// Absent: the default account.
    public var account: String?
    /// A recipient as a user names it, to select the threads of one conversation.
    public var with: String?
    /// The maximum number of threads; absent: all.
    public var limit: Int?
    /// Whether each item is a ``Shown`` thread.
    @Default<False> public var hasAppearances: Bool
    public init(account: String?, with: String?, limit: Int?) {
      self.account = account
      self.with = with
      self.limit = limit
    }
  }
  public typealias Result = EmptyObject
}

/// The stored conversations: pinned ones first, then by newest message. Each is sent as an item of type
/// ``Conversation``, or as a ``Shown`` one.
public enum ConversationsListMethod: AgentMethod {
  public static let name = "conversations.list"
  public static let mayBeAbandoned = true
  public static let isIdempotent = true
  public struct Parameters: AccountParameters {
    /// Absent: the default account.
    public var account: String?
    /// Whether to list only conversations with unread messages.
    @Default<False> public var unread: Bool
    /// Whether each item is a ``Shown`` conversation.
    @Default<False> public var hasAppearances: Bool
    public init(account: String?, unread: Bool) {
      self.account = account
      self.unread = unread
    }
  }
  public typealias Result = EmptyObject
}

/// Normalises bare and full JIDs, keeping their order. Fails for an invalid JID.
public enum RecipientsNormaliseMethod: AgentMethod {
  public static let name = "recipients.normalise"
  public static let mayBeAbandoned = true
  public static let isIdempotent = true
  public struct Parameters: MethodParameters {
    public var jids: [String]
    public init(jids: [String]) { self.jids = jids }
  }
  public typealias Result = [String]
}
