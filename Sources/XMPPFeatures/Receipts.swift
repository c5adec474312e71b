import XMPPStanza
import XMPPXML

/// Says that a message has arrived at a client of its recipient (XEP-0184).
///
///     message.payload.append(Receipts.request)            // who sends it, with an id
///     if let answer = Receipts.answer(to: message) { … }   // who gets it
///     if let id = Receipts.confirmed(by: answer) { … }     // the message that has arrived
///
/// An answer tells its receiver that somebody is there: it is only for those who may know that (§8).
public enum Receipts {
  public static let namespace = "urn:xmpp:receipts"

  /// What asks for a receipt (§5.1).
  public static let request = XMLElement("request", namespace: namespace)

  /// The receipt that a message asks for (§5.2); nil where it asks for none, or may not (§5.3, §5.4).
  public static func answer(to message: Message) -> Message? {
    guard message.first("request", namespace) != nil, message.first("received", namespace) == nil,
      message.type != .error, message.type != .groupchat, let id = StanzaID.bounded(message.id),
      let sender = message.from
    else { return nil }
    let received = XMLElement("received", namespace: namespace, attributes: ["id": id])
    return Message(type: message.type, to: sender, payload: [received, MessageHints.store])
  }

  /// The id of the message that has arrived; nil where the message is no receipt.
  public static func confirmed(by message: Message) -> String? {
    guard message.type != .error, message.type != .groupchat else { return nil }
    return StanzaID.bounded(message.first("received", namespace)?["id"])
  }
}
