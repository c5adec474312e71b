/// Tells somebody what the account is doing in the conversation with them (XEP-0085).
///
/// It is true now or never: nothing is stored, and without a session that is online it is `notLoggedIn`.
public enum ChatStateSendMethod: AgentMethod {
  public static let name = "chatState.send"
  public static let isIdempotent = true
  public typealias Result = Nothing

  public enum State: String, Sendable, CaseIterable {
    case active, composing, paused, inactive, gone
  }

  public struct Parameters: AccountParameters {
    /// Absent: the default account.
    public var account: String?
    public var to: String
    /// The name of a ``State``.
    public var state: String
    public init(account: String?, to: String, state: String) {
      self.account = account
      self.to = to
      self.state = state
    }
  }
}
