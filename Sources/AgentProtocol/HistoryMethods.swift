/// Fetches from the account's archive what the local store lacks for the answer to a question about the past: fills
/// gaps, then reads backwards until there are enough messages, or no older ones.
///
/// What is fetched is no event. The messages are read from the local store.
public enum HistorySyncMethod: AgentMethod {
  public static let name = "history.sync"
  public static let isIdempotent = true

  /// Words that can be searched for at a time, and characters of them.
  package static let maximumWords = 32
  package static let maximumText = 1000

  public struct Parameters: AccountParameters {
    /// Absent: the default account.
    public var account: String?
    /// Absent: all conversations.
    public var with: String?
    /// All of these are in each message that counts.
    @Default<NoStrings> public var words: [String]
    /// Seconds since 1970: messages not before, and before.
    public var after: Double?
    public var before: Double?
    /// How many messages are wanted.
    public var limit: Int
    public init(account: String?, with: String? = nil, limit: Int) {
      self.account = account
      self.with = with
      self.limit = limit
    }
    public func validate() throws(RPCError) {
      if limit < 1 { throw .invalidParameter("limit") }
      let length = words.reduce(0) { $0 + $1.unicodeScalars.count }
      if words.count > maximumWords || length > maximumText { throw .invalidParameter("words") }
    }
  }

  public struct Result: Codable, Sendable, Equatable {
    /// Messages that are new in the local store.
    public var fetched: Int
    /// Nothing that belongs to the answer is left at the server.
    public var complete: Bool
    public init(fetched: Int = 0, complete: Bool = false) {
      self.fetched = fetched
      self.complete = complete
    }
  }
}
