/// Tells which messages were accepted, whatever has become of them: those that earlier requests of the connection have
/// sent, and whatever was accepted before.
///
/// Answered at once, ahead of the answers that wait for a server.
public enum MessageAcceptedMethod: AgentMethod {
  public static let name = "message.accepted"
  public static let isQuestion = true
  public static let isIdempotent = true
  public static let needsPlace = false
  public static let isPrompt = true

  /// Ids of one call.
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

  /// Those of the ids that messages were accepted under.
  public typealias Result = [String]
}
