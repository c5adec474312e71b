/// Messages of the past from the local store. Each is told as an item, an event `message`.
public enum HistoryReadMethod: AgentMethod {
  public static let name = "history.read"
  public static let isQuestion = true
  public static let isIdempotent = true
  public struct Parameters: AccountParameters {
    /// Absent: the default account.
    public var account: String?
    /// A recipient as a user calls it: only messages of this conversation.
    public var with: String?
    public var thread: String?
    /// All of these are in each message.
    @Default<NoStrings> public var words: [String]
    /// A corrected message once, with its newest text; else every event as it came.
    @Default<False> public var isFolded: Bool
    @Default<False> public var newestFirst: Bool
    /// Seconds since 1970: messages not before, and before.
    public var after: Double?
    public var before: Double?
    /// At most so many, the newest; absent: all.
    public var limit: Int?
    public init(account: String?) { self.account = account }
    public func validate() throws(RPCError) {
      if let limit, limit < 1 { throw .invalidParameter("limit") }
    }
  }
  public typealias Result = Nothing
}

/// A thread as `threads list --json` prints it.
public struct MessageThread: Codable, Sendable, Equatable {
  /// The conversation.
  public var jid: String
  /// Chosen by whoever has begun the thread.
  public var thread: String
  public var messages: Int
  /// When the first and the last of them were sent: RFC 3339.
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

/// The threads that stored messages name, the one with the newest message first. Each is told as an item, a
/// ``MessageThread``.
public enum ThreadsListMethod: AgentMethod {
  public static let name = "threads.list"
  public static let isQuestion = true
  public static let isIdempotent = true
  public struct Parameters: AccountParameters {
    /// Absent: the default account.
    public var account: String?
    /// A recipient as a user calls it: only threads of this conversation.
    public var with: String?
    /// At most so many; absent: all.
    public var limit: Int?
    public init(account: String?, with: String?, limit: Int?) {
      self.account = account
      self.with = with
      self.limit = limit
    }
  }
  public typealias Result = Nothing
}

/// The stored conversations, pinned ones first, then by their newest message. Each is told as an item, a
/// ``Conversation``.
public enum ConversationsListMethod: AgentMethod {
  public static let name = "conversations.list"
  public static let isQuestion = true
  public static let isIdempotent = true
  public struct Parameters: AccountParameters {
    /// Absent: the default account.
    public var account: String?
    /// Only those with unread messages.
    @Default<False> public var unread: Bool
    public init(account: String?, unread: Bool) {
      self.account = account
      self.unread = unread
    }
  }
  public typealias Result = Nothing
}

/// Bare and full JIDs in their one spelling, in the order in which they are given. Fails where one is none.
public enum RecipientsNormaliseMethod: AgentMethod {
  public static let name = "recipients.normalise"
  public static let isQuestion = true
  public static let isIdempotent = true
  public struct Parameters: MethodParameters {
    public var jids: [String]
    public init(jids: [String]) { self.jids = jids }
  }
  public typealias Result = [String]
}
