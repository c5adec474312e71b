import XMPP
import XMPPStanza
import XMPPXML

/// The contact list that the server keeps (RFC 6121 §2).
public struct Roster: Sendable, Equatable {
  public struct Item: Sendable, Equatable {
    public var jid: JID
    public var name: String?
    /// `none`, `to`, `from`, `both`; `remove` in a push.
    public var subscription: String
    /// A subscription request of ours has not been answered.
    public var isAsked: Bool
    public var groups: [String]
  }

  public var items: [Item]
  /// Version of the roster, where the server keeps one (§2.6).
  public var version: String?

  /// The request for the roster (§2.1.3): goes out before the initial presence (§2.2).
  public static func request() -> IQ {
    IQ(type: .get, payload: [XMLElement("query", namespace: Namespaces.roster)])
  }

  /// The roster in a result; nil when it holds none. Items whose JID is not valid are left out.
  public init?(_ answer: IQ) {
    guard let query = answer.payload.first, query.name == XMLName("query", Namespaces.roster) else {
      return nil
    }
    version = query["ver"]
    items = query.elements.compactMap(Item.init)
  }

  /// A push counts only without `from` or from the own bare JID (§2.1.6); others get `service-unavailable`.
  public static func accepts(push: IQ, own: JID) -> Bool {
    push.type == .set && (push.from == nil || push.from == own.bare)
  }

  /// Acknowledges pushes that the own server may send.
  public static func responder(own: JID) -> (XMLName, StreamConfiguration.Responder) {
    (
      XMLName("query", Namespaces.roster),
      { push in accepts(push: push, own: own) ? IQ(type: .result, to: push.from, id: push.id) : nil }
    )
  }
}

extension Roster.Item {
  init?(_ element: XMLElement) {
    guard element.name == XMLName("item", Namespaces.roster), let text = element["jid"],
      let jid = try? JID(text)
    else { return nil }
    self.jid = jid
    name = element["name"]
    subscription = element["subscription"] ?? "none"
    isAsked = element["ask"] == "subscribe"
    groups = element.elements.filter { $0.name.local == "group" }.map(\.text)
  }
}
