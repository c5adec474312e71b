import XMPPStanza
import XMPPXML

/// Copies of the messages that other devices of the account send and receive (XEP-0280).
public enum Carbons {
  /// A copy that the account's server has made.
  public struct Copy: Sendable, Equatable {
    /// True if another device of the account sent the message, false if one received it.
    public var isSent: Bool
    public var message: Message
    public var delay: Delay?
  }

  /// The request to enable copies (§4); a server without this feature answers with an error.
  public static func request() -> IQ {
    IQ(type: .set, payload: [XMLElement("enable", namespace: Namespaces.carbons)])
  }

  /// Whether the message claims to be a copy, whoever sent it.
  public static func isClaimed(by message: Message) -> Bool { wrapper(in: message) != nil }

  /// The copy in a message; nil unless `own`, the own bare JID, has sent it (§11).
  public static func copy(in message: Message, own: JID) -> Copy? {
    guard message.from == own, own.isBare, let wrapper = wrapper(in: message),
      let forwarded = Forwarded(in: wrapper)
    else { return nil }
    let isSent = wrapper.name.local == "sent"
    let side = isSent ? forwarded.message.from : forwarded.message.to
    guard side?.bare == own else { return nil }
    return Copy(isSent: isSent, message: forwarded.message, delay: forwarded.delay)
  }

  private static func wrapper(in message: Message) -> XMLElement? {
    message.first("sent", Namespaces.carbons) ?? message.first("received", Namespaces.carbons)
  }
}
