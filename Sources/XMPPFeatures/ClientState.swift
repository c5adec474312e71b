import XMPP
import XMPPStanza
import XMPPXML

/// Whether the user looks at the client now (XEP-0352): to one who does not, the server may hold back what can wait.
///
/// A new session is active, and so is one that was resumed (§5).
public enum ClientState: String, Sendable {
  case active, inactive

  /// What tells the server (§4.2). Neither a stanza nor answered.
  public var element: XMLElement { XMLElement(rawValue, namespace: Namespaces.clientState) }

  /// The server wants to know (§4.1).
  public static func isOffered(by features: StreamFeatures) -> Bool {
    features.offers("csi", Namespaces.clientState)
  }
}
