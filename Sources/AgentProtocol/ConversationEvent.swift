/// Fields of the event `conversation`: a conversation has changed other than by a message.
public struct ConversationEvent: Codable, Sendable, Equatable {
  /// The kind of change.
  public enum Action: String, Codable, Sendable, CaseIterable {
    /// The conversation was pinned before the others, or unpinned.
    case pinned, unpinned
    /// Its notifications were muted, or unmuted.
    case mute, unmute
    /// Its marks have changed; ``ConversationEvent/marks`` has all of them.
    case mark
    /// It was read up to some message.
    case read
    /// Its messages so far were hidden.
    case historyRemoved
    /// It was deleted, together with its messages, marks and settings.
    case delete
  }

  /// The value of ``by`` for a command of this agent.
  public static let own = "self"
  /// The value of ``by`` for a device that does not identify itself.
  public static let otherDevice = "other-device"

  public var action: Action
  /// The conversation: a bare JID, or the full JID of another device of the account.
  public var jid: String
  /// `self`, the id of another device of the account, or `other-device` for an unidentified one.
  public var by: String
  /// All marks, with the action `mark`; otherwise absent.
  public var marks: [String]?

  public init(_ action: Action, jid: String, by: String, marks: [String]? = nil) {
    self.action = action
    self.jid = jid
    self.by = by
    self.marks = marks
  }
}
