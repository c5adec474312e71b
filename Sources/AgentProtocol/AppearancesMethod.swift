/// The name and the colour with which text output shows a contact, a room or an occupant of a room.
public struct Appearance: Codable, Sendable, Equatable {
  /// The bare JID; for an occupant, the full JID.
  public var jid: String
  /// The name in the contact list or in the bookmarks, or the occupant's nickname.
  public var name: String?
  /// The consistent colour (XEP-0392), `#rrggbb`.
  public var color: String

  public init(jid: String, name: String?, color: String) {
    self.jid = jid
    self.name = name
    self.color = color
  }
}

/// A value together with the appearance of the contact or room that it belongs to.
public struct Shown<Value: Codable & Sendable>: Codable, Sendable {
  public var value: Value
  public var appearance: Appearance

  public init(_ value: Value, _ appearance: Appearance) {
    self.value = value
    self.appearance = appearance
  }
}

/// The appearances of contacts, rooms and occupants, in the order of their JIDs.
public enum AppearancesMethod: AgentMethod {
  public static let name = "contacts.appearances"
  public static let mayBeAbandoned = true
  public static let isIdempotent = true

  /// The maximum number of JIDs in a call.
  public static let maximumJIDs = 1000

  public struct Parameters: AccountParameters {
    /// Absent: the default account.
    public var account: String?
    /// Bare JIDs, or full JIDs of occupants.
    public var jids: [String]
    public init(account: String?, jids: [String]) {
      self.account = account
      self.jids = jids
    }
    public func validate() throws(RPCError) {
      if jids.count > maximumJIDs { throw .invalidParameter("jids") }
    }
  }

  public typealias Result = [Appearance]
}
