/// Fields of the event `device`: something has changed about a device of the account.
public struct DeviceEvent: Codable, Sendable, Equatable {
  /// What has happened.
  public enum Action: String, Codable, Sendable, CaseIterable {
    /// It shows itself online.
    case online
    /// It does so no more.
    case offline
    /// It was not known before.
    case add
    /// Its user calls it something else.
    case rename
    /// It is no device of the account any more.
    case remove
    /// This one has ended its session.
    case kick
    /// The device policy wants this one to end its session, and it could not: it is tried again.
    case stay
  }

  public var action: Action
  /// The device's full JID; the account's where that is not known.
  public var jid: String
  /// Null where that cannot be known.
  @Nullable public var by: ContactEvent.Actor?
  /// What the device's user calls it.
  @Nullable public var name: String?

  public init(_ action: Action, jid: String, by: ContactEvent.Actor?, name: String? = nil) {
    self.action = action
    self.jid = jid
    self.by = by
    self.name = name
  }
}
