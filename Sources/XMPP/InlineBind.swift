import XMPPStanza
import XMPPXML

/// A resource asked for together with the authentication (XEP-0386).
enum InlineBind {
  /// - Parameters:
  ///   - tag: becomes part of the resource, which everybody may see.
  ///   - features: those that the server can switch on with it.
  static func request(tag: String?, features: [String]) -> XMLElement {
    var children: [XMLElement] = []
    if let tag { children.append(XMLElement("tag", namespace: Namespaces.bind2, text: tag)) }
    for feature in features {
      switch feature {
      case Namespaces.carbons: children.append(XMLElement("enable", namespace: Namespaces.carbons))
      case Namespaces.streamManagement:
        children.append(XMLElement("enable", namespace: Namespaces.streamManagement))
      case Namespaces.clientState: children.append(XMLElement("active", namespace: Namespaces.clientState))
      default: break
      }
    }
    return XMLElement("bind", namespace: Namespaces.bind2, children: children)
  }
}
