/// Fetches from the account's archive what the local store lacks for the answer to a question about the past: fills
/// gaps, then reads backwards until there are enough messages, or no older ones.
///
/// What is fetched is no event. The messages are read from the local store.
public enum HistorySyncMethod: AgentMethod {
  public static let name = "history.sync"
  public static let isIdempotent = true

  public struct Parameters: Codable, Sendable {
    /// Absent: the default account.
    public var account: String?
    /// Absent: all conversations.
    public var with: String?
    /// All of these are in each message that counts.
    public var words: [String]
    /// Seconds since 1970: messages not before, and before.
    public var after: Double?
    public var before: Double?
    /// How many messages are wanted.
    public var limit: Int
    public init(account: String?, with: String? = nil, limit: Int) {
      self.account = account
      self.with = with
      self.limit = limit
      words = []
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

extension HistorySyncMethod.Parameters {
  /// Absent: no `words`.
  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      account: try fields.decodeIfPresent(String.self, forKey: .account),
      with: try fields.decodeIfPresent(String.self, forKey: .with),
      limit: try fields.decode(Int.self, forKey: .limit))
    words = try fields.decodeIfPresent([String].self, forKey: .words) ?? []
    after = try fields.number(Double.self, forKey: .after)
    before = try fields.number(Double.self, forKey: .before)
  }
}
