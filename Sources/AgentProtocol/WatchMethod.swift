/// Starts `event` notifications on this connection; the answer precedes the first of them.
public enum WatchMethod: AgentMethod {
  public static let name = "watch"
  public static let mayBeAbandoned = true
  public static let isIdempotent = true
  public static func occupiesPlaceAfterAnswer(_ parameters: Parameters) -> Bool { true }
  public struct Parameters: MethodParameters {
    /// The names of events; absent: all.
    public var events: [String]?
    /// Absent: all accounts.
    public var account: String?
    /// Replays the stored events since this cursor.
    public var since: Int64?
    public init() {}
    public func validate() throws(RPCError) {
      if let since, since < 0 { throw .invalidParameter("since") }
    }
  }
  public struct Result: Codable, Sendable, Equatable {
    /// The newest cursor at the time of the request.
    public var cursor: Int64
    public init(cursor: Int64) { self.cursor = cursor }
  }
}
