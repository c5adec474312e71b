import XMPPStanza
import XMPPXML

/// A part of a long list (XEP-0059).
public enum ResultSet {
  static let namespace = "http://jabber.org/protocol/rsm"

  /// Which part is wanted.
  public enum Part: Sendable, Equatable {
    /// The items behind this one; nil: from the first one on.
    case after(String?)
    /// The items before this one, those next to it; nil: the last ones.
    case before(String?)
  }

  /// The request for at most `maximum` items.
  static func request(_ part: Part, maximum: Int) -> XMLElement {
    var children = [XMLElement("max", namespace: namespace, text: String(maximum))]
    switch part {
    case .after(let id?): children.append(XMLElement("after", namespace: namespace, text: id))
    case .after(nil): break
    case .before(let id): children.append(XMLElement("before", namespace: namespace, text: id))
    }
    return XMLElement("set", namespace: namespace, children: children)
  }

  /// How many items the whole list has; nil where that is not told.
  static func count(in element: XMLElement) -> Int? {
    element.first("set", namespace)?.first("count").flatMap { Int($0.text) }
  }

  /// The ends of the part that was given: nil where it is empty.
  static func ends(of element: XMLElement) -> (first: String, last: String)? {
    guard let set = element.first("set", namespace), let first = StanzaID.bounded(set.first("first")?.text),
      let last = StanzaID.bounded(set.first("last")?.text)
    else { return nil }
    return (first, last)
  }
}
