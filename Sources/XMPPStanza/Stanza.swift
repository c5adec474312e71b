import XMPPXML

/// A message, presence or IQ stanza (RFC 6120 §8).
///
/// A stanza consists of its addresses and its child elements (`payload`). The content that RFC 6121 defines, such as a
/// body, is read from the payload, so that no extension of a newer peer is lost. Text between the children is not kept.
public protocol Stanza: Sendable {
  /// The recipient; nil for the sender's account (RFC 6120 §8.1.1.1).
  var to: JID? { get set }
  /// The sender; nil for the own account in a received stanza (RFC 6120 §8.1.2.1).
  var from: JID? { get set }
  var id: String? { get set }
  /// The value of `xml:lang`.
  var language: String? { get set }
  /// The child elements, in order.
  var payload: [XMLElement] { get set }
  /// The error; not nil if and only if the stanza has the type "error".
  var error: StanzaError? { get }

  /// Parses a stanza. Returns nil if the element is not a stanza.
  ///
  /// An invalid address also gives nil: if it were ignored, a stanza from another entity could appear to come from the
  /// own server. Code that routes elements ignores such a stanza or answers `jid-malformed`.
  init?(_ element: XMLElement)

  /// The stanza as an element of the namespace `jabber:client`.
  var element: XMLElement { get }
}

extension Stanza {
  /// A new, unpredictable id (RFC 6120 §8.1.3).
  public static func makeID() -> String {
    var generator = SystemRandomNumberGenerator()
    return String(generator.next() as UInt64, radix: 36) + String(generator.next() as UInt64, radix: 36)
  }

  /// The stanza with its own id, or a new one if it has none.
  public var withID: Self {
    var stanza = self
    stanza.id = id ?? Self.makeID()
    return stanza
  }

  /// The first child element with this name.
  public func first(_ local: String, _ namespace: String) -> XMLElement? {
    payload.first { $0.name.local == local && $0.name.namespace == namespace }
  }

  /// The text of the child without `xml:lang`, or else of the first child with this name.
  func text(of local: String) -> String? {
    let children = payload.filter { $0.name == XMLName(local, Namespaces.client) }
    return (children.first { $0.language == nil } ?? children.first)?.text
  }

  /// The texts of the children with this name, by language; children without a language have that of the stanza.
  func texts(of local: String) -> [String: String] {
    payload.reduce(into: [:]) { texts, child in
      guard child.name == XMLName(local, Namespaces.client) else { return }
      let language = child.language ?? language ?? ""
      if texts[language] == nil { texts[language] = child.text }
    }
  }

  /// Replaces all children with this name by one without `xml:lang`, or removes them if the text is nil.
  mutating func setText(of local: String, to text: String?) {
    let name = XMLName(local, Namespaces.client)
    let child = text.map { XMLElement(local, namespace: Namespaces.client, text: $0) }
    let index = payload.firstIndex { $0.name == name } ?? payload.endIndex
    let before = payload[..<index]
    let after = payload[index...].filter { $0.name != name }
    payload = Array(before) + (child.map { [$0] } ?? []) + after
  }

  /// The error child; `undefined-condition` if the peer sent none.
  var errorInPayload: StanzaError {
    first("error", Namespaces.client).flatMap(StanzaError.init) ?? StanzaError(.undefined)
  }

  func element(_ local: String, type: String?) -> XMLElement {
    var element = XMLElement(
      local, namespace: Namespaces.client,
      attributes: ["to": to?.description, "from": from?.description, "id": id, "type": type],
      children: payload)
    element[XMLName("lang", Namespaces.xml)] = language
    return element
  }
}

/// The attributes and children that all kinds of stanzas share.
struct StanzaHeader {
  let to: JID?
  let from: JID?
  let id: String?
  let language: String?
  let type: String?
  let payload: [XMLElement]

  /// Returns nil if the element is not such a stanza, or if an address is invalid.
  init?(_ element: XMLElement, _ local: String) {
    guard element.name == XMLName(local, Namespaces.client) else { return nil }
    do throws(JIDError) {
      to = try Self.address(element["to"])
      from = try Self.address(element["from"])
    } catch {
      return nil
    }
    id = element["id"]
    language = element.language
    type = element["type"]
    payload = element.elements
  }

  private static func address(_ attribute: String?) throws(JIDError) -> JID? {
    guard let attribute else { return nil }
    return try JID(attribute)
  }
}
