import XMPPStanza
import XMPPXML

/// Requests that clients remove a message (XEP-0424). No one can enforce this.
///
/// A retraction is valid only if it has the same sender as the message (§5.1); the recipient has to compare them.
public enum Retraction {
  public static let namespace = "urn:xmpp:message-retract:1"

  /// The element that retracts the message with this id.
  public static func element(of id: String) -> XMLElement {
    XMLElement("retract", namespace: namespace, attributes: ["id": id])
  }

  /// The id of the retracted message; nil if the message is not a retraction.
  ///
  /// This is the id from the sender, or in a room the id from the room (§4.1). The body beside it is for clients
  /// without support for retractions (XEP-0428).
  public static func retracted(by message: Message) -> String? {
    guard message.type != .error else { return nil }
    return StanzaID.bounded(message.first("retract", namespace)?["id"])
  }
}
