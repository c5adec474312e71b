import XMPPStanza
import XMPPXML

/// Replaces a message by another (XEP-0308).
///
/// It counts only where both are of one sender (§4): who reads a correction has to compare them.
public enum Correction {
  public static let namespace = "urn:xmpp:message-correct:0"

  /// What says that the message around it takes the place of the one with this id.
  public static func element(of id: String) -> XMLElement {
    XMLElement("replace", namespace: namespace, attributes: ["id": id])
  }

  /// The id of the message that this one replaces; nil where it replaces none.
  public static func replaced(by message: Message) -> String? {
    guard message.type != .error else { return nil }
    return StanzaID.bounded(message.first("replace", namespace)?["id"])
  }
}
