import XMPPStanza
import XMPPXML

/// What servers are to do with a message (XEP-0334).
public enum MessageHints {
  public static let namespace = "urn:xmpp:hints"

  /// It goes into the archives, though it has no body (§4.4).
  public static let store = XMLElement("store", namespace: namespace)

  /// It goes into no archive, and is not kept for a recipient who is offline (§4.2).
  public static let noStore = XMLElement("no-store", namespace: namespace)

  /// For the one device that it is addressed to: no server makes copies of it (XEP-0280 §6.2).
  public static let oneCopy = [
    XMLElement("no-copy", namespace: namespace), XMLElement("private", namespace: Namespaces.carbons),
  ]
}
