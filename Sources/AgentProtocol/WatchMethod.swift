/// Starts the notifications `event` on this connection; answered before the first of them.
public enum WatchMethod: AgentMethod {
  public static let name = "watch"
  public static let isQuestion = true
  public static let isIdempotent = true
  public static func keepsPlace(_ parameters: Parameters) -> Bool { true }
  public struct Parameters: MethodParameters {
    /// Names of events; absent: all.
    public var events: [String]?
    /// Absent: every account.
    public var account: String?
    /// Replays what is kept since this cursor.
    public var since: Int64?
    public init() {}
    public func validate() throws(RPCError) {
      if let since, since < 0 { throw .invalidParameter("since") }
    }
  }
  public struct Result: Codable, Sendable, Equatable {
    /// The newest cursor at the time of the call.
    public var cursor: Int64
    public init(cursor: Int64) { self.cursor = cursor }
  }
}
