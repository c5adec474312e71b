import XMPPStanza
import XMPPXML

/// What this side has handled of the server's stanzas (XEP-0198 §4).
struct StreamManagement: Sendable, Equatable {
  /// Modulo 2^32, as the counter of the specification.
  private(set) var handled: UInt32

  /// - Parameter inline: the answer to an inline bind; nil where nothing is to be acknowledged.
  init?(inline: XMLElement?, handled: UInt32 = 0) {
    guard inline?.first("enabled", Namespaces.streamManagement) != nil else { return nil }
    self.handled = handled
  }

  /// Also sent unasked before the end: what was handled is not to come again.
  var acknowledgement: XMLElement {
    XMLElement("a", namespace: Namespaces.streamManagement, attributes: ["h": String(handled)])
  }

  /// Counts a stanza. The answer to a request for acknowledgement is what is to be sent now.
  mutating func received(_ element: XMLElement) -> XMLElement? {
    switch (element.name.namespace, element.name.local) {
    case (Namespaces.client, "message"), (Namespaces.client, "presence"), (Namespaces.client, "iq"):
      handled &+= 1
      return nil
    case (Namespaces.streamManagement, "r"): return acknowledgement
    default: return nil
    }
  }
}
