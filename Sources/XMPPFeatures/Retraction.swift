import XMPPStanza
import XMPPXML

/// Takes a message back (XEP-0424): a request, which nobody can enforce.
///
/// It counts only where both are of one sender (§5.1): who reads a retraction has to compare them.
public enum Retraction {
  public static let namespace = "urn:xmpp:message-retract:1"

  /// What says that the message with this id is taken back.
  public static func element(of id: String) -> XMLElement {
    XMLElement("retract", namespace: namespace, attributes: ["id": id])
  }

  /// The id of the message that this one takes back; nil where it takes back none.
  ///
  /// It is the one that the sender has given; in a room, the one that the room has given (§4.1). The body beside it is
  /// for clients that do not know of retractions (XEP-0428).
  public static func retracted(by message: Message) -> String? {
    guard message.type != .error else { return nil }
    return StanzaID.bounded(message.first("retract", namespace)?["id"])
  }
}
