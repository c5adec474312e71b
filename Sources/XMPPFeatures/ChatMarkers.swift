import XMPPStanza
import XMPPXML

/// How far the recipient has received or read a conversation (XEP-0333).
public enum ChatMarkers {
  public static let namespace = "urn:xmpp:chat-markers:0"

  public enum Marker: String, Sendable, CaseIterable {
    /// The message was received. Sent only by older clients.
    case received
    /// The user may have seen the message.
    case displayed
    /// The user has acknowledged the message. Sent only by older clients.
    case acknowledged
  }

  /// The element that requests markers (§4.1).
  public static let request = XMLElement("markable", namespace: namespace)

  /// Whether the sender requests markers.
  public static func isRequested(by message: Message) -> Bool { message.first("markable", namespace) != nil }

  /// The element that marks the message with this id, and all before it (§4.2).
  public static func element(_ marker: Marker, id: String) -> XMLElement {
    XMLElement(marker.rawValue, namespace: namespace, attributes: ["id": id])
  }

  /// The marker in a message, and the id of the marked message; nil if there is none.
  public static func marker(in message: Message) -> (marker: Marker, id: String)? {
    guard message.type != .error else { return nil }
    for marker in Marker.allCases {
      if let id = StanzaID.bounded(message.first(marker.rawValue, namespace)?["id"]) { return (marker, id) }
    }
    return nil
  }
}
