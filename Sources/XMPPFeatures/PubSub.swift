import XMPPStanza
import XMPPXML

/// Nodes to which items are published, and whose subscribers hear of that (XEP-0060). What is here is for the account as
/// its own service (XEP-0163).
public enum PubSub {
  public static let namespace = "http://jabber.org/protocol/pubsub"
  public static let ownerNamespace = namespace + "#owner"
  public static let eventNamespace = namespace + "#event"
  public static let errorNamespace = namespace + "#errors"
  /// The server publishes only under the conditions that come with the item (XEP-0060 §7.1.5).
  public static let publishOptions = namespace + "#publish-options"
  /// The id of the item of a node that has one item only.
  public static let onlyItem = "current"

  /// Items that are read of one node; what is beyond that is left out.
  public static let maximumItems = 10_000
  /// Items that are asked for at a time.
  static let pageSize = 250

  /// What an entity can do lists this where it wants to hear of a node of its contacts and of its own account
  /// (XEP-0163 §4.3.1).
  public static func notify(_ node: String) -> String { node + "+notify" }

  /// Something that was published.
  public struct Item: Sendable, Equatable {
    public var id: String
    /// Nil where the node tells of items without what is in them.
    public var payload: XMLElement?

    public init(_ id: String, _ payload: XMLElement? = nil) {
      self.id = id
      self.payload = payload
    }

    /// Nil for what is no item, or has no id.
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

  /// Something has happened at a node of the own account (XEP-0060 §7.1.2.1, XEP-0163 §4.3).
  public struct Event: Sendable, Equatable {
    public enum Change: Sendable, Equatable {
      case published(Item)
      /// The item with this id is gone.
      case retracted(String)
      /// All items are gone, or the node is.
      case purged
    }

    public var node: String
    /// In the order in which they are told.
    public var changes: [Change]

    /// Nil where the message tells of none that `own`, the own bare JID, has sent: anybody can write what looks like one.
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

  /// A form that is filled in (XEP-0004 §3.2, XEP-0068).
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

/// A part of a node's items, as it was answered (XEP-0060 §6.5).
struct ItemsPage: Sendable, Equatable {
  var items: [PubSub.Item]
  /// Where the next page goes on; nil where there is none.
  var next: String?
  /// How many items the node has, where that is told.
  var count: Int?

  /// Nil where the answer is none.
  init?(_ answer: IQ, node: String) {
    guard answer.type == .result, let pubsub = answer.first("pubsub", PubSub.namespace) else { return nil }
    let list = pubsub.first("items")
    if let told = list?["node"], told != node { return nil }
    items = Array((list?.elements ?? []).lazy.compactMap(PubSub.Item.init).prefix(PubSub.maximumItems))
    next = items.isEmpty ? nil : ResultSet.ends(of: pubsub)?.last
    count = ResultSet.count(in: pubsub)
  }

  /// The items with these ids, or a part of all of them.
  static func request(
    _ node: String, ids: [String]? = nil, after: String? = nil, maximum: Int = PubSub.pageSize
  ) -> IQ {
    let items = (ids ?? []).map { PubSub.Item($0).element }
    let list = XMLElement("items", namespace: PubSub.namespace, attributes: ["node": node], children: items)
    let part = ids == nil ? [ResultSet.request(.after(after), maximum: maximum)] : []
    return PubSub.iq(.get, [list] + part)
  }
}
