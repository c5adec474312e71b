/// Fields of the event `conversation`: something of a conversation has changed that is in no message of it.
public struct ConversationEvent: Codable, Sendable, Equatable {
  /// What has happened.
  public enum Action: String, Codable, Sendable, CaseIterable {
    /// It is shown before others, or is so no more.
    case pinned, unpinned
    /// Nothing is to be heard of its messages, or is again.
    case mute, unmute
    /// It has other marks: ``ConversationEvent/marks`` are all of them.
    case mark
    /// Everything in it was read, up to some message.
    case read
    /// Its messages up to now are not shown any more.
    case historyRemoved
    /// It was deleted: with its messages, its marks and whatever else was set.
    case delete
  }

  /// ``by`` where it was a command of this agent.
  public static let own = "self"
  /// ``by`` where it was a device that does not say which.
  public static let otherDevice = "other-device"

  public var action: Action
  /// The conversation: a bare JID, or the full JID of another device of the account.
  public var jid: String
  /// `self`, the id of another device of the account, or `other-device` where that is not known.
  public var by: String
  /// With `mark`; else absent.
  public var marks: [String]?

  public init(_ action: Action, jid: String, by: String, marks: [String]? = nil) {
    self.action = action
    self.jid = jid
    self.by = by
    self.marks = marks
  }
}
