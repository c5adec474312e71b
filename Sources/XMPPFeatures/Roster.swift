import XMPP
import XMPPStanza
import XMPPXML

/// The contact list at the server (RFC 6121 §2).
///
/// A program that stores the roster sends its version with the request, and gets an empty answer if that version is the
/// newest. Later changes are pushes, which ``responder(own:)`` answers and the stream reports:
///
///     let answer = try await stream.request(Roster.request(version: roster.version ?? ""))
///     roster = Roster(answer) ?? roster
///     // and for every StreamEvent.request(let request):
///     if let push = Roster.Push(request, own: bound.jid) { roster.apply(push) }
public struct Roster: Sendable, Equatable {
  /// The maximum number of stored contacts; others are dropped.
  public static let maximumItems = 50_000
  /// The maximum length of a contact's or group's name in characters; the rest is dropped.
  public static let maximumText = 1024
  /// The maximum number of a contact's groups.
  public static let maximumGroups = 64

  /// The direction of presence between user and contact (§2.1.2.5).
  public enum Subscription: String, Sendable, Hashable {
    case none
    /// The user sees the contact's presence.
    case to
    /// The contact sees the user's presence.
    case from
    case both

    /// Whether the user sees the contact's presence.
    public var isTo: Bool { self == .to || self == .both }
    /// Whether the contact sees the user's presence.
    public var isFrom: Bool { self == .from || self == .both }
  }

  public struct Item: Sendable, Equatable {
    public var jid: JID
    public var name: String?
    public var subscription: Subscription
    /// Whether the user's request to see the contact's presence is unanswered (§2.1.2.2).
    public var isAsked: Bool
    /// Whether the contact's future request was approved in advance (§3.4).
    public var isApproved: Bool
    /// The groups in the server's order, without duplicates.
    public var groups: [String]

    public init(
      jid: JID, name: String? = nil, subscription: Subscription = .none, isAsked: Bool = false,
      isApproved: Bool = false, groups: [String] = []
    ) {
      self.jid = jid
      self.name = name
      self.subscription = subscription
      self.isAsked = isAsked
      self.isApproved = isApproved
      self.groups = groups
    }
  }

  /// A change that the server announces (§2.1.6).
  public struct Push: Sendable, Equatable {
    public enum Change: Sendable, Equatable {
      /// The contact was added or changed.
      case set(Item)
      case remove(JID)
    }

    public var change: Change
    /// The version of the roster after the change (§2.6).
    public var version: String?

    public var jid: JID {
      switch change {
      case .set(let item): item.jid
      case .remove(let jid): jid
      }
    }

    /// Returns nil if the request is not a push from the account's server, or does not have exactly one contact.
    public init?(_ request: IQ, own: JID) {
      guard Roster.accepts(push: request, own: own), let query = request.first("query", Namespaces.roster),
        query.elements.count == 1, let element = query.elements.first, let item = Item(element)
      else { return nil }
      version = query["ver"]
      change = element["subscription"] == "remove" ? .remove(item.jid) : .set(item)
    }
  }

  public var items: [Item]
  /// The version of the roster, if the server supports versions (§2.6).
  public var version: String?

  public init(items: [Item] = [], version: String? = nil) {
    self.items = items
    self.version = version
  }

  /// The request for the roster (§2.1.3), which precedes the initial presence (§2.2).
  ///
  /// - Parameter version: The version of the stored roster, or an empty text without one, for servers that offer
  ///   ``isVersioned(_:)``. If it is the newest version, the answer contains no roster, and pushes announce later
  ///   changes.
  public static func request(version: String? = nil) -> IQ {
    IQ(
      type: .get,
      payload: [XMLElement("query", namespace: Namespaces.roster, attributes: ["ver": version])])
  }

  /// Whether a server supports versions of the roster (§2.6.1).
  public static func isVersioned(_ features: StreamFeatures) -> Bool {
    features.offers("ver", Namespaces.rosterVersioning)
  }

  /// The roster in a result; nil if there is none. Items with an invalid JID are skipped.
  public init?(_ answer: IQ) {
    guard answer.type == .result, let query = answer.first("query", Namespaces.roster) else { return nil }
    version = query["ver"]
    items = Array(query.elements.lazy.compactMap(Item.init).prefix(Self.maximumItems))
  }

  /// The request that adds a contact, or changes its name and groups (§2.3, §2.4).
  public static func set(_ jid: JID, name: String?, groups: [String]) -> IQ {
    let groups = groups.map { XMLElement("group", namespace: Namespaces.roster, text: $0) }
    return set(
      XMLElement(
        "item", namespace: Namespaces.roster, attributes: ["jid": jid.description, "name": name],
        children: groups))
  }

  /// The request that removes a contact and the subscriptions in both directions (§2.5).
  public static func remove(_ jid: JID) -> IQ {
    set(
      XMLElement(
        "item", namespace: Namespaces.roster,
        attributes: ["jid": jid.description, "subscription": "remove"]))
  }

  private static func set(_ item: XMLElement) -> IQ {
    IQ(type: .set, payload: [XMLElement("query", namespace: Namespaces.roster, children: [item])])
  }

  /// Applies a push.
  public mutating func apply(_ push: Push) {
    let index = items.firstIndex { $0.jid == push.jid }
    switch (push.change, index) {
    case (.set(let item), let index?): items[index] = item
    case (.set(let item), nil): if items.count < Self.maximumItems { items.append(item) }
    case (.remove, let index?): items.remove(at: index)
    case (.remove, nil): break
    }
    version = push.version ?? version
  }

  /// Whether a push is valid: it has no `from`, or the own bare JID (§2.1.6). Others get `service-unavailable`.
  public static func accepts(push: IQ, own: JID) -> Bool {
    push.type == .set && (push.from == nil || push.from == own.bare)
  }

  /// Acknowledges valid pushes from the account's server.
  public static func responder(own: JID) -> (XMLName, StreamConfiguration.Responder) {
    (
      XMLName("query", Namespaces.roster),
      { push in Push(push, own: own) == nil ? nil : IQ(type: .result, to: push.from, id: push.id) }
    )
  }
}

extension Roster.Item {
  init?(_ element: XMLElement) {
    guard element.name == XMLName("item", Namespaces.roster), let text = element["jid"],
      let jid = try? JID(text)
    else { return nil }
    self.jid = jid
    name = element["name"].map(Self.bounded).flatMap { $0.isEmpty ? nil : $0 }
    // Unknown values are equivalent to `none` (RFC 6121 §2.1.2.5).
    subscription = element["subscription"].flatMap(Roster.Subscription.init) ?? .none
    isAsked = element["ask"] == "subscribe"
    isApproved = element["approved"] == "true" || element["approved"] == "1"
    groups = []
    for child in element.elements where child.name == XMLName("group", Namespaces.roster) {
      let group = Self.bounded(child.text)
      if groups.count < Roster.maximumGroups, !group.isEmpty, !groups.contains(group) { groups.append(group) }
    }
  }

  private static func bounded(_ text: String) -> String {
    text.unicodeScalars.count <= Roster.maximumText
      ? text : String(String.UnicodeScalarView(text.unicodeScalars.prefix(Roster.maximumText)))
  }
}
