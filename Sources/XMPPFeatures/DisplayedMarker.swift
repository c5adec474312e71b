import XMPPStanza
import XMPPXML

/// How far the account has read a conversation, shared among its devices (XEP-0490).
public struct DisplayedMarker: Sendable, Equatable {
  public static let node = PrivateNode(namespace)
  static let namespace = "urn:xmpp:mds:displayed:0"

  /// The conversation: the bare JID of a contact or room, or the full JID of an occupant.
  public var jid: JID
  /// The id of the newest message that was read, assigned by the archive of ``by``.
  public var id: String
  public var by: JID

  public init(jid: JID, id: String, by: JID) {
    self.jid = jid
    self.id = id
    self.by = by
  }

  /// Returns nil if the item is not a marker.
  public init?(_ item: PubSub.Item) {
    guard let jid = try? JID(item.id), let displayed = item.payload,
      displayed.name == XMLName("displayed", Self.namespace),
      let stanza = displayed.first("stanza-id", StanzaID.namespace),
      let id = StanzaID.bounded(stanza["id"]), let by = stanza["by"].flatMap({ try? JID($0) })
    else { return nil }
    self.init(jid: jid, id: id, by: by)
  }

  public var item: PubSub.Item {
    let stanza = XMLElement(
      "stanza-id", namespace: StanzaID.namespace, attributes: ["by": by.description, "id": id])
    return PubSub.Item(
      jid.description, XMLElement("displayed", namespace: Self.namespace, children: [stanza]))
  }
}
