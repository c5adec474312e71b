import XMPP
import XMPPStanza
import XMPPXML

/// Whether the user of the client is active (XEP-0352). For an inactive client, the server may delay unimportant
/// stanzas.
///
/// A new session is active, and so is a resumed one (§5).
public enum ClientState: String, Sendable {
  case active, inactive

  /// The element for the server (§4.2). It is not a stanza, and has no answer.
  public var element: XMLElement { XMLElement(rawValue, namespace: Namespaces.clientState) }

  /// Whether the server supports client state (§4.1).
  public static func isOffered(by features: StreamFeatures) -> Bool {
    features.offers("csi", Namespaces.clientState)
  }
}
