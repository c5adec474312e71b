import XMPPSASL
import XMPPStanza
import XMPPXML

/// A word that stands for all that an entity can do (XEP-0115): it goes with every presence, so that nobody has to ask.
public struct EntityCapabilities: Sendable, Equatable {
  /// A URI of the software.
  public var node: String
  /// The verification string, a SHA-1 in base64.
  public var version: String

  /// Nil where no hash can be computed.
  public init?(node: String, of discovery: ServiceDiscovery) {
    guard let version = Self.verification(of: discovery) else { return nil }
    self.node = node
    self.version = version
  }

  /// What goes into a presence (§4).
  public var element: XMLElement {
    XMLElement(
      "c", namespace: Namespaces.capabilities, attributes: ["hash": "sha-1", "node": node, "ver": version])
  }

  /// What others ask for to learn what the word stands for (§6.2).
  public var discoveryNode: String { node + "#" + version }

  /// The verification string of what an entity says of itself (§5.1).
  public static func verification(of discovery: ServiceDiscovery) -> String? {
    var text = ""
    func add(_ parts: [String]) { for part in parts { text += part + "<" } }
    add(
      sorted(
        discovery.identities.map { "\($0.category)/\($0.type)/\($0.language ?? "")/\($0.name ?? "")" }))
    add(sorted(Array(discovery.features)))
    let forms = discovery.forms.compactMap { form in form.formType.map { (type: $0, form: form) } }
    for (type, form) in forms.sorted(by: { precedes($0.type, $1.type) }) {
      add([type])
      let fields = form.fields.filter { $0.name != "FORM_TYPE" }
      for field in fields.sorted(by: { precedes($0.name, $1.name) }) {
        add([field.name] + sorted(field.values))
      }
    }
    return (try? Digest.sha1.hash(text.utf8)).map(Base64.encode)
  }

  /// By octets (`i;octet`, RFC 4790 §9.3).
  private static func precedes(_ one: String, _ other: String) -> Bool {
    one.utf8.lexicographicallyPrecedes(other.utf8)
  }

  private static func sorted(_ texts: [String]) -> [String] { texts.sorted(by: precedes) }
}
