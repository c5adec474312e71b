/// Sends a chat state to the other side of a conversation (XEP-0085).
///
/// A chat state is never stored: without an online session, the request fails with `notLoggedIn`.
public enum ChatStateSendMethod: AgentMethod {
  public static let name = "chatState.send"
  public static let isIdempotent = true
  public typealias Result = EmptyObject

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
