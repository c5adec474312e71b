import XMPPStanza
import XMPPXML

/// Replaces a message by another one (XEP-0308).
///
/// A correction is valid only if it has the same sender as the message (§4); the recipient has to compare them.
public enum Correction {
  public static let namespace = "urn:xmpp:message-correct:0"

  /// The element that marks a message as the correction of the one with this id.
  public static func element(of id: String) -> XMLElement {
    XMLElement("replace", namespace: namespace, attributes: ["id": id])
  }

  /// The id of the message that this one replaces; nil if it is not a correction.
  public static func replaced(by message: Message) -> String? {
    guard message.type != .error else { return nil }
    return StanzaID.bounded(message.first("replace", namespace)?["id"])
  }
}
