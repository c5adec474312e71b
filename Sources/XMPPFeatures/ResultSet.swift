import XMPPStanza
import XMPPXML

/// A page of a long list (XEP-0059).
public enum ResultSet {
  static let namespace = "http://jabber.org/protocol/rsm"

  /// The position of the page.
  public enum Part: Sendable, Equatable {
    /// The items after this one; nil: from the first one.
    case after(String?)
    /// The items directly before this one; nil: the last ones.
    case before(String?)
  }

  /// The request for a page of at most `maximum` items.
  static func request(_ part: Part, maximum: Int) -> XMLElement {
    var children = [XMLElement("max", namespace: namespace, text: String(maximum))]
    switch part {
    case .after(let id?): children.append(XMLElement("after", namespace: namespace, text: id))
    case .after(nil): break
    case .before(let id): children.append(XMLElement("before", namespace: namespace, text: id))
    }
    return XMLElement("set", namespace: namespace, children: children)
  }

  /// The number of items of the whole list; nil if the server does not send it.
  static func count(in element: XMLElement) -> Int? {
    element.first("set", namespace)?.first("count").flatMap { Int($0.text) }
  }

  /// The first and the last item of the page; nil if it is empty.
  static func ends(of element: XMLElement) -> (first: String, last: String)? {
    guard let set = element.first("set", namespace), let first = StanzaID.bounded(set.first("first")?.text),
      let last = StanzaID.bounded(set.first("last")?.text)
    else { return nil }
    return (first, last)
  }
}
