import XMPPStanza
import XMPPXML

/// How far the recipient has come in a conversation (XEP-0333).
public enum ChatMarkers {
  public static let namespace = "urn:xmpp:chat-markers:0"

  public enum Marker: String, Sendable, CaseIterable {
    /// It has arrived. Older clients only.
    case received
    /// A person may have seen it.
    case displayed
    /// A person has done something about it. Older clients only.
    case acknowledged
  }

  /// What says that markers are welcome (§4.1).
  public static let request = XMLElement("markable", namespace: namespace)

  /// Whether the sender wants to know.
  public static func isRequested(by message: Message) -> Bool { message.first("markable", namespace) != nil }

  /// What marks the message with this id, and all before it (§4.2).
  public static func element(_ marker: Marker, id: String) -> XMLElement {
    XMLElement(marker.rawValue, namespace: namespace, attributes: ["id": id])
  }

  /// The marker in a message, and the id of the message that it marks; nil where there is none.
  public static func marker(in message: Message) -> (marker: Marker, id: String)? {
    guard message.type != .error else { return nil }
    for marker in Marker.allCases {
      if let id = StanzaID.bounded(message.first(marker.rawValue, namespace)?["id"]) { return (marker, id) }
    }
    return nil
  }
}
