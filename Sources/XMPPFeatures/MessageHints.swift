import XMPPStanza
import XMPPXML

/// Hints for servers on how to process a message (XEP-0334).
public enum MessageHints {
  public static let namespace = "urn:xmpp:hints"

  /// The message is archived although it has no body (§4.4).
  public static let store = XMLElement("store", namespace: namespace)

  /// The message is neither archived nor stored for an offline recipient (§4.2).
  public static let noStore = XMLElement("no-store", namespace: namespace)

  /// The message is only for the addressed device; servers make no copies (XEP-0280 §6.2).
  public static let oneCopy = [
    XMLElement("no-copy", namespace: namespace), XMLElement("private", namespace: Namespaces.carbons),
  ]
}
