/// Fields of the event `contact`: the relationship between the account and another JID has changed.
public struct ContactEvent: Codable, Sendable, Equatable {
  /// The kind of change.
  public enum Action: String, Codable, Sendable, CaseIterable {
    /// A contact was added to the contact list.
    case add
    /// A contact's name or groups have changed.
    case update
    /// A contact was removed from the contact list.
    case remove
    /// Another user asks to see the account's presence.
    case request
    /// A request was withdrawn by its sender.
    case withdraw
    /// A request was accepted: the contact now sees the account's presence.
    case accept
    /// A request was declined.
    case decline
    /// A contact was approved in advance: it will see the account's presence as soon as it asks (RFC 6121 §3.4).
    case approve
    /// The account asked to see a contact's presence.
    case subscribe
    /// The account now sees the contact's presence.
    case subscribed
    /// The account no longer sees the contact's presence, or the contact declined the account's request.
    case unsubscribed
    /// The contact no longer sees the account's presence.
    case unsubscribe
    /// An address was blocked (XEP-0191).
    case ban
    /// An address was unblocked.
    case allow
  }

  /// The cause of a change.
  public enum Actor: String, Codable, Sendable {
    /// A command of this agent.
    case own = "self"
    /// Another device of the account.
    case otherDevice = "other-device"
    case contact
  }

  public var action: Action
  /// Bare JID; with `ban` and `allow`, any JID.
  public var jid: String
  /// Null if unknown.
  @Nullable public var by: Actor?
  /// The text of a request.
  @Nullable public var text: String?
  /// The contact with which the JID of a request can be confused (UTS #39).
  public var looksLike: String?

  public init(_ action: Action, jid: String, by: Actor?, text: String? = nil) {
    self.action = action
    self.jid = jid
    self.by = by
    self.text = text
  }
}
