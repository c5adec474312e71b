import XMPPSASL
import XMPPStanza
import XMPPXML

/// A hash of all features of an entity (XEP-0115). It is part of every presence, so that most entities need not ask.
public struct EntityCapabilities: Sendable, Equatable {
  /// A URI that identifies the software.
  public var node: String
  /// The verification string: a SHA-1 hash in base64.
  public var version: String

  /// Returns nil if the hash cannot be computed.
  public init?(node: String, of discovery: ServiceDiscovery) {
    guard let version = Self.verification(of: discovery) else { return nil }
    self.node = node
    self.version = version
  }

  /// The element for presence stanzas (§4).
  public var element: XMLElement {
    XMLElement(
      "c", namespace: Namespaces.capabilities, attributes: ["hash": "sha-1", "node": node, "ver": version])
  }

  /// The node at which others request the features (§6.2).
  public var discoveryNode: String { node + "#" + version }

  /// The verification string of an entity's description (§5.1).
  ///
  /// Nil for an ill-formed description (§5.4): one with a duplicate identity, feature or form, or with a form of
  /// several types. A form without a hidden `FORM_TYPE` is ignored.
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

  /// Compares the first parts that differ.
  private static func precedes(_ one: [String], _ other: [String]) -> Bool {
    one.lexicographicallyPrecedes(other) { precedes($0, $1) }
  }

  /// Compares octets (`i;octet`, RFC 4790 §9.3).
  private static func precedes(_ one: String, _ other: String) -> Bool {
    one.utf8.lexicographicallyPrecedes(other.utf8)
  }

  private static func sorted(_ texts: [String]) -> [String] { texts.sorted(by: precedes) }
}

extension ServiceDiscovery.Identity {
  /// The fields in the order in which identities are sorted and written (§5.1).
  fileprivate var sortKey: [String] { [category, type, language ?? "", name ?? ""] }
}

extension DataForm {
  /// Whether there is exactly one hidden `FORM_TYPE`, whose values are equal.
  fileprivate var hasOneType: Bool {
    let types = fields.filter { $0.name == "FORM_TYPE" && $0.kind == .hidden }
    return types.count == 1 && types.allSatisfy { Set($0.values).count == 1 }
  }
}
