import XMPP
import XMPPStanza
import XMPPXML

/// The contact list that the server keeps (RFC 6121 §2).
///
/// A program that keeps the roster asks with the version that it has, and gets nothing where that is the newest one.
/// What changes later comes as pushes, which ``responder(own:)`` answers and the stream reports:
///
///     let answer = try await stream.request(Roster.request(version: roster.version ?? ""))
///     roster = Roster(answer) ?? roster
///     // and for every StreamEvent.request(let request):
///     if let push = Roster.Push(request, own: bound.jid) { roster.apply(push) }
public struct Roster: Sendable, Equatable {
  /// Contacts that are kept of one roster; what is beyond that is left out.
  public static let maximumItems = 50_000
  /// Characters of a name, or of a group's; the rest is left out.
  public static let maximumText = 1024
  /// Groups that are kept of one contact.
  public static let maximumGroups = 64

  /// Whose presence is shown to whom (§2.1.2.5).
  public enum Subscription: String, Sendable, Hashable {
    case none
    /// The user sees the contact's.
    case to
    /// The contact sees the user's.
    case from
    case both

    /// The user sees the contact's presence.
    public var isTo: Bool { self == .to || self == .both }
    /// The contact sees the user's presence.
    public var isFrom: Bool { self == .from || self == .both }
  }

  public struct Item: Sendable, Equatable {
    public var jid: JID
    public var name: String?
    public var subscription: Subscription
    /// The user's request to see the contact's presence has not been answered (§2.1.2.2).
    public var isAsked: Bool
    /// The contact's request is approved before it comes (§3.4).
    public var isApproved: Bool
    /// In the order of the server, each once.
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

  /// What the server says of a change (§2.1.6).
  public struct Push: Sendable, Equatable {
    public enum Change: Sendable, Equatable {
      /// The contact is new, or is like this from now on.
      case set(Item)
      case remove(JID)
    }

    public var change: Change
    /// Version of the roster after it (§2.6).
    public var version: String?

    public var jid: JID {
      switch change {
      case .set(let item): item.jid
      case .remove(let jid): jid
      }
    }

    /// Nil for what is no push that the own server may send, or does not have exactly one contact in it.
    public init?(_ request: IQ, own: JID) {
      guard Roster.accepts(push: request, own: own), let query = request.first("query", Namespaces.roster),
        query.elements.count == 1, let element = query.elements.first, let item = Item(element)
      else { return nil }
      version = query["ver"]
      change = element["subscription"] == "remove" ? .remove(item.jid) : .set(item)
    }
  }

  public var items: [Item]
  /// Version of the roster, where the server keeps one (§2.6).
  public var version: String?

  public init(items: [Item] = [], version: String? = nil) {
    self.items = items
    self.version = version
  }

  /// The request for the roster (§2.1.3): goes out before the initial presence (§2.2).
  ///
  /// - Parameter version: of the roster that is kept, empty where none is: for servers that offer
  ///   ``isVersioned(_:)``. Where it is the newest, the answer holds no roster, and pushes tell what has changed.
  public static func request(version: String? = nil) -> IQ {
    IQ(
      type: .get,
      payload: [XMLElement("query", namespace: Namespaces.roster, attributes: ["ver": version])])
  }

  /// Whether a server knows versions of the roster (§2.6.1).
  public static func isVersioned(_ features: StreamFeatures) -> Bool {
    features.offers("ver", Namespaces.rosterVersioning)
  }

  /// The roster in a result; nil when it holds none. Items whose JID is not valid are left out.
  public init?(_ answer: IQ) {
    guard answer.type == .result, let query = answer.first("query", Namespaces.roster) else { return nil }
    version = query["ver"]
    items = Array(query.elements.lazy.compactMap(Item.init).prefix(Self.maximumItems))
  }

  /// The request that adds a contact, or changes name and groups of one (§2.3, §2.4).
  public static func set(_ jid: JID, name: String?, groups: [String]) -> IQ {
    let groups = groups.map { XMLElement("group", namespace: Namespaces.roster, text: $0) }
    return set(
      XMLElement(
        "item", namespace: Namespaces.roster, attributes: ["jid": jid.description, "name": name],
        children: groups))
  }

  /// The request that removes a contact, and with it the subscriptions of both sides (§2.5).
  public static func remove(_ jid: JID) -> IQ {
    set(
      XMLElement(
        "item", namespace: Namespaces.roster,
        attributes: ["jid": jid.description, "subscription": "remove"]))
  }

  private static func set(_ item: XMLElement) -> IQ {
    IQ(type: .set, payload: [XMLElement("query", namespace: Namespaces.roster, children: [item])])
  }

  /// Takes a push over.
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

  /// A push counts only without `from` or from the own bare JID (§2.1.6); others get `service-unavailable`.
  public static func accepts(push: IQ, own: JID) -> Bool {
    push.type == .set && (push.from == nil || push.from == own.bare)
  }

  /// Acknowledges pushes that the own server may send.
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
    // What is not known stands for none (RFC 6121 §2.1.2.5).
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
