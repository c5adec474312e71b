/// Fields of the event `device`: a device of the account has changed.
public struct DeviceEvent: Codable, Sendable, Equatable {
  /// The kind of change.
  public enum Action: String, Codable, Sendable, CaseIterable {
    /// The device is online.
    case online
    /// The device is offline.
    case offline
    /// The device is new.
    case add
    /// The user renamed the device.
    case rename
    /// The device no longer belongs to the account.
    case remove
    /// The session of the device was ended by this device.
    case kick
    /// The device policy requires this device to end that session, but the attempt failed and will be repeated.
    case stay
  }

  public var action: Action
  /// The full JID of the device; the account's bare JID if that is unknown.
  public var jid: String
  /// Null if unknown.
  @Nullable public var by: ContactEvent.Actor?
  /// The user's name for the device.
  @Nullable public var name: String?

  public init(_ action: Action, jid: String, by: ContactEvent.Actor?, name: String? = nil) {
    self.action = action
    self.jid = jid
    self.by = by
    self.name = name
  }
}
