/// Fetches messages from the account's archive that the local store lacks for a query: fills gaps, then reads backwards
/// until there are enough messages, or no older ones.
///
/// Fetched messages cause no events. The client reads them from the local store.
public enum HistorySyncMethod: AgentMethod {
  public static let name = "history.sync"
  public static let isIdempotent = true

  /// The maximum number of search words, and of their characters together.
  package static let maximumWords = 32
  package static let maximumText = 1000

  public struct Parameters: AccountParameters {
    /// Absent: the default account.
    public var account: String?
    /// Absent: all conversations.
    public var with: String?
    /// Search words, all of which a message must contain to count.
    @Default<NoStrings> public var words: [String]
    /// Seconds since 1970: the earliest time (inclusive) and the latest time (exclusive).
    public var after: Double?
    public var before: Double?
    /// The number of messages that the local store should have.
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
    /// The number of messages that are new in the local store.
    public var fetched: Int
    /// Whether the archive has no more messages for the query.
    public var complete: Bool
    public init(fetched: Int = 0, complete: Bool = false) {
      self.fetched = fetched
      self.complete = complete
    }
  }
}
