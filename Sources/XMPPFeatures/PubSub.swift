import XMPPStanza
import XMPPXML

/// Nodes to which items are published, and whose subscribers are notified (XEP-0060). This type covers the own account
/// as a service (XEP-0163).
public enum PubSub {
  public static let namespace = "http://jabber.org/protocol/pubsub"
  public static let ownerNamespace = namespace + "#owner"
  public static let eventNamespace = namespace + "#event"
  public static let errorNamespace = namespace + "#errors"
  /// The feature of a server that publishes an item only under the conditions sent with it (XEP-0060 §7.1.5).
  public static let publishOptions = namespace + "#publish-options"
  /// The id of the item in a node with a single item.
  public static let onlyItem = "current"

  /// The maximum number of items that are read from a node; others are dropped.
  public static let maximumItems = 10_000
  /// The number of items of a page.
  static let pageSize = 250

  /// The feature of an entity that wants to receive events of a node of its contacts and of its own account (XEP-0163
  /// §4.3.1).
  public static func notify(_ node: String) -> String { node + "+notify" }

  /// A published item.
  public struct Item: Sendable, Equatable {
    public var id: String
    /// Nil if the node sends items without payload.
    public var payload: XMLElement?

    public init(_ id: String, _ payload: XMLElement? = nil) {
      self.id = id
      self.payload = payload
    }

    /// Returns nil if the element is not an item, or has no id.
    init?(_ element: XMLElement) {
      guard element.name.local == "item", let id = StanzaID.bounded(element["id"]) else { return nil }
      self.id = id
      payload = element.elements.first
    }

    var element: XMLElement {
      XMLElement(
        "item", namespace: PubSub.namespace, attributes: ["id": id],
        children: [payload].compactMap(\.self))
    }
  }

  /// An event at a node of the own account (XEP-0060 §7.1.2.1, XEP-0163 §4.3).
  public struct Event: Sendable, Equatable {
    public enum Change: Sendable, Equatable {
      case published(Item)
      /// The item with this id was removed.
      case retracted(String)
      /// All items were removed, or the node was deleted.
      case purged
    }

    public var node: String
    /// The changes in their order in the message.
    public var changes: [Change]

    /// Returns nil unless the event was sent by `own`, the own bare JID: anyone can send a message that looks like one.
    public init?(_ message: Message, own: JID) {
      guard message.type != .error, own.isBare, message.from == own,
        let event = message.first("event", eventNamespace)
      else { return nil }
      for part in event.elements where part.name.namespace == eventNamespace {
        guard let node = part["node"] else { continue }
        switch part.name.local {
        case "items":
          self.node = node
          changes = part.elements.prefix(maximumItems).compactMap(Self.change)
        case "purge", "delete":
          self.node = node
          changes = [.purged]
        default: continue
        }
        return
      }
      return nil
    }

    private static func change(_ element: XMLElement) -> Change? {
      guard element.name.namespace == eventNamespace else { return nil }
      if element.name.local == "retract" { return StanzaID.bounded(element["id"]).map(Change.retracted) }
      return Item(element).map(Change.published)
    }
  }

  static func iq(
    _ type: IQ.Kind, _ children: [XMLElement], namespace: String = PubSub.namespace
  ) -> IQ {
    IQ(type: type, payload: [XMLElement("pubsub", namespace: namespace, children: children)])
  }

  /// A submitted form (XEP-0004 §3.2, XEP-0068).
  static func form(_ type: String, _ fields: KeyValuePairs<String, String>) -> XMLElement {
    func field(_ name: String, _ value: String, _ kind: String?) -> XMLElement {
      XMLElement(
        "field", namespace: Namespaces.dataForm, attributes: ["var": name, "type": kind],
        children: [XMLElement("value", namespace: Namespaces.dataForm, text: value)])
    }
    return XMLElement(
      "x", namespace: Namespaces.dataForm, attributes: ["type": "submit"],
      children: [field("FORM_TYPE", type, "hidden")] + fields.map { field($0, $1, nil) })
  }
}

/// A page of a node's items (XEP-0060 §6.5).
struct ItemsPage: Sendable, Equatable {
  var items: [PubSub.Item]
  /// The position of the next page; nil if there is none.
  var next: String?
  /// The number of the node's items, if the server sends it.
  var count: Int?

  /// Returns nil if the answer contains no page.
  init?(_ answer: IQ, node: String) {
    guard answer.type == .result, let pubsub = answer.first("pubsub", PubSub.namespace) else { return nil }
    let list = pubsub.first("items")
    if let told = list?["node"], told != node { return nil }
    items = Array((list?.elements ?? []).lazy.compactMap(PubSub.Item.init).prefix(PubSub.maximumItems))
    next = items.isEmpty ? nil : ResultSet.ends(of: pubsub)?.last
    count = ResultSet.count(in: pubsub)
  }

  /// The request for the items with these ids, or for a page of all items.
  static func request(
    _ node: String, ids: [String]? = nil, after: String? = nil, maximum: Int = PubSub.pageSize
  ) -> IQ {
    let items = (ids ?? []).map { PubSub.Item($0).element }
    let list = XMLElement("items", namespace: PubSub.namespace, attributes: ["node": node], children: items)
    let part = ids == nil ? [ResultSet.request(.after(after), maximum: maximum)] : []
    return PubSub.iq(.get, [list] + part)
  }
}
