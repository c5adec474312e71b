import XMPPStanza
import XMPPXML

/// Receipts confirm that a message has reached a client of its recipient (XEP-0184).
///
///     message.payload.append(Receipts.request)            // the sender; the message must have an id
///     if let answer = Receipts.answer(to: message) { … }   // the recipient
///     if let id = Receipts.confirmed(by: answer) { … }     // the sender, for the confirmed message
///
/// A receipt reveals that the recipient is online. Send it only to contacts that may know this (§8).
public enum Receipts {
  public static let namespace = "urn:xmpp:receipts"

  /// The element that requests a receipt (§5.1).
  public static let request = XMLElement("request", namespace: namespace)

  /// The requested receipt (§5.2); nil if the message requests none, or must not (§5.3, §5.4).
  public static func answer(to message: Message) -> Message? {
    guard message.first("request", namespace) != nil, message.first("received", namespace) == nil,
      message.type != .error, message.type != .groupchat, let id = StanzaID.bounded(message.id),
      let sender = message.from
    else { return nil }
    let received = XMLElement("received", namespace: namespace, attributes: ["id": id])
    return Message(type: message.type, to: sender, payload: [received, MessageHints.store])
  }

  /// The id of the confirmed message; nil if the message is not a receipt.
  public static func confirmed(by message: Message) -> String? {
    guard message.type != .error, message.type != .groupchat else { return nil }
    return StanzaID.bounded(message.first("received", namespace)?["id"])
  }
}
