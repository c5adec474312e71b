/// Fields of the event `contact`: something has changed between the account and somebody else.
public struct ContactEvent: Codable, Sendable, Equatable {
  /// What has happened.
  public enum Action: String, Codable, Sendable, CaseIterable {
    /// Somebody is in the contact list now.
    case add
    /// A contact has another name or other groups.
    case update
    /// A contact is not in the list any more.
    case remove
    /// Somebody asks to see the account's presence.
    case request
    /// A request was withdrawn by who has made it.
    case withdraw
    /// A request was accepted: the contact sees the account's presence.
    case accept
    /// A request was declined.
    case decline
    /// A contact is to see the account's presence as soon as it asks.
    case approve
    /// A contact was asked to show its presence.
    case subscribe
    /// The contact shows its presence.
    case subscribed
    /// The contact shows its presence no more, or does not want to.
    case unsubscribed
    /// The contact sees the account's presence no more.
    case unsubscribe
    /// Nothing gets through to or from somebody.
    case ban
    /// What was banned is so no more.
    case allow
  }

  /// Whose doing it is.
  public enum Actor: String, Codable, Sendable {
    /// A command of this agent.
    case own = "self"
    /// Another device of the account.
    case otherDevice = "other-device"
    case contact
  }

  public var action: Action
  /// Bare JID, but for what was banned.
  public var jid: String
  /// Null where that cannot be known.
  @Nullable public var by: Actor?
  /// What came with a request.
  @Nullable public var text: String?
  /// A contact whom the JID of a request can be taken for (UTS #39).
  public var looksLike: String?

  public init(_ action: Action, jid: String, by: Actor?, text: String? = nil) {
    self.action = action
    self.jid = jid
    self.by = by
    self.text = text
  }
}
