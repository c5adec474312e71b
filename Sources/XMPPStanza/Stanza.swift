import XMPPXML

/// A message, presence or IQ: what is routed by its addresses (RFC 6120 §8).
///
/// A stanza is its addresses and its child elements (`payload`); what RFC 6121 defines inside, such as a body,
/// is read from the payload, so that nothing a newer peer sends is lost. Text between the children is not kept.
public protocol Stanza: Sendable {
  /// The recipient; nil stands for the account of the sender (RFC 6120 §8.1.1.1).
  var to: JID? { get set }
  /// The sender; nil on the wire of a client stands for the own account (RFC 6120 §8.1.2.1).
  var from: JID? { get set }
  var id: String? { get set }
  /// The value of `xml:lang`.
  var language: String? { get set }
  /// The child elements, in order.
  var payload: [XMLElement] { get set }
  /// Why a stanza was refused: not nil when, and only when, the stanza is of type "error".
  var error: StanzaError? { get }

  /// Reads a stanza; nil when the element is none.
  ///
  /// An address that is not a JID also gives nil: taken as absent, it would turn a stranger's stanza into one
  /// of the own server. Whoever routes elements ignores such a stanza or answers `jid-malformed`.
  init?(_ element: XMLElement)

  /// The stanza as an element of the namespace `jabber:client`.
  var element: XMLElement { get }
}

extension Stanza {
  /// An id that nobody can guess (RFC 6120 §8.1.3).
  public static func makeID() -> String {
    var generator = SystemRandomNumberGenerator()
    return String(generator.next() as UInt64, radix: 36) + String(generator.next() as UInt64, radix: 36)
  }

  /// The stanza with an id: its own, else a new one.
  public var withID: Self {
    var stanza = self
    stanza.id = id ?? Self.makeID()
    return stanza
  }

  /// The first child element of that name.
  public func first(_ local: String, _ namespace: String) -> XMLElement? {
    payload.first { $0.name.local == local && $0.name.namespace == namespace }
  }

  /// The text of the child that suits a reader without a language: the one without `xml:lang`, else the first.
  func text(of local: String) -> String? {
    let children = payload.filter { $0.name == XMLName(local, Namespaces.client) }
    return (children.first { $0.language == nil } ?? children.first)?.text
  }

  /// The texts of the children of that name by their language; that of the stanza where they have none.
  func texts(of local: String) -> [String: String] {
    payload.reduce(into: [:]) { texts, child in
      guard child.name == XMLName(local, Namespaces.client) else { return }
      let language = child.language ?? language ?? ""
      if texts[language] == nil { texts[language] = child.text }
    }
  }

  /// Replaces all children of that name by one without `xml:lang`; by none where the text is nil.
  mutating func setText(of local: String, to text: String?) {
    let name = XMLName(local, Namespaces.client)
    let child = text.map { XMLElement(local, namespace: Namespaces.client, text: $0) }
    let index = payload.firstIndex { $0.name == name } ?? payload.endIndex
    let before = payload[..<index]
    let after = payload[index...].filter { $0.name != name }
    payload = Array(before) + (child.map { [$0] } ?? []) + after
  }

  /// The error child, or `undefined-condition` where the peer did not say why.
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

/// What the three kinds of stanza have in common on the wire.
struct StanzaHeader {
  let to: JID?
  let from: JID?
  let id: String?
  let language: String?
  let type: String?
  let payload: [XMLElement]

  /// Nil when the element is not a stanza of that kind, or an address is not a JID.
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
