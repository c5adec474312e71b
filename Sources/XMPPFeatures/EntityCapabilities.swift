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
  ///
  /// Nil for what is ill-formed (§5.4): an identity, a feature or a form that is there twice, or a form of several types.
  /// A form without a hidden `FORM_TYPE` is left out.
  public static func verification(of discovery: ServiceDiscovery) -> String? {
    guard discovery.isExact, Set(discovery.identities).count == discovery.identities.count else { return nil }
    var text = ""
    func add(_ parts: [String]) { for part in parts { text += part + "<" } }
    for identity in discovery.identities.sorted(by: { precedes($0.sortKey, $1.sortKey) }) {
      add([identity.sortKey.joined(separator: "/")])
    }
    add(sorted(Array(discovery.features)))
    let forms = discovery.forms.compactMap { form in form.formType.map { (type: $0, form: form) } }
    guard Set(forms.map(\.type)).count == forms.count else { return nil }
    for (type, form) in forms.sorted(by: { precedes($0.type, $1.type) }) {
      guard form.hasOneType else { return nil }
      add([type])
      let fields = form.fields.filter { $0.name != "FORM_TYPE" }
      for field in fields.sorted(by: { precedes($0.name, $1.name) }) {
        add([field.name] + sorted(field.values))
      }
    }
    return (try? Digest.sha1.hash(text.utf8)).map(Base64.encode)
  }

  /// By the first part in which they differ.
  private static func precedes(_ one: [String], _ other: [String]) -> Bool {
    one.lexicographicallyPrecedes(other) { precedes($0, $1) }
  }

  /// By octets (`i;octet`, RFC 4790 §9.3).
  private static func precedes(_ one: String, _ other: String) -> Bool {
    one.utf8.lexicographicallyPrecedes(other.utf8)
  }

  private static func sorted(_ texts: [String]) -> [String] { texts.sorted(by: precedes) }
}

extension ServiceDiscovery.Identity {
  /// In the order in which identities are sorted, and written (§5.1).
  fileprivate var sortKey: [String] { [category, type, language ?? "", name ?? ""] }
}

extension DataForm {
  /// There is one hidden `FORM_TYPE`, and its values do not differ.
  fileprivate var hasOneType: Bool {
    let types = fields.filter { $0.name == "FORM_TYPE" && $0.kind == .hidden }
    return types.count == 1 && types.allSatisfy { Set($0.values).count == 1 }
  }
}
