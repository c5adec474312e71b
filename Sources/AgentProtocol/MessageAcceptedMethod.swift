/// Reports which messages were accepted, whatever their delivery state: by earlier requests of the connection, or
/// before.
///
/// The answer does not wait for pending answers from a server.
public enum MessageAcceptedMethod: AgentMethod {
  public static let name = "message.accepted"
  public static let mayBeAbandoned = true
  public static let isIdempotent = true
  public static let needsPlace = false
  public static let isAnsweredFirst = true

  /// The maximum number of ids in a call.
  public static let maximumIDs = 256

  public struct Parameters: AccountParameters {
    /// Absent: the default account.
    public var account: String?
    public var ids: [String]
    public init(account: String?, ids: [String]) {
      self.account = account
      self.ids = ids
    }
    public func validate() throws(RPCError) {
      if !(1...maximumIDs).contains(ids.count) { throw .invalidParameter("ids") }
    }
  }

  /// The ids that belong to accepted messages.
  public typealias Result = [String]
}
