import XMPPStanza
import XMPPXML

public enum WireDirection: String, Sendable {
  case sent, received
}

/// Renders elements as text for people, with every secret replaced.
enum WireLog {
  static func line(_ output: StreamNegotiator.Output) -> String {
    switch output {
    case .header(let header): header.xmlString()
    case .element(let element): line(element)
    }
  }

  static func line(_ element: XMLElement) -> String {
    redacted(element).xmlString(inheriting: Namespaces.client)
  }

  /// In the namespaces of authentication, everything is secret except for what is known to be public; elsewhere
  /// passwords, tokens, and form fields with a password (XEP-0004, XEP-0077).
  private static func redacted(_ element: XMLElement) -> XMLElement {
    var element = element
    if let names = publicNames[element.name.namespace], !names.contains(element.name.local) {
      return hidden(element)
    }
    if element.name.local == "password" || isSecretField(element) {
      return hidden(element, but: publicOfField)
    }
    for index in element.attributes.indices
    where isSecret(element.attributes[index].name.local, of: element.name) {
      element.attributes[index].value = mark
    }
    element.children = element.children.map { child in
      if case .element(let inner) = child { .element(redacted(inner)) } else { child }
    }
    return element
  }

  /// The ID of a user agent is known only to the server (XEP-0388 §2.3).
  private static func isSecret(_ attribute: String, of element: XMLName) -> Bool {
    attribute == "token" || (attribute == "id" && element == XMLName("user-agent", Namespaces.sasl2))
  }

  private static func isSecretField(_ element: XMLElement) -> Bool {
    guard element.name == XMLName("field", "jabber:x:data") else { return false }
    return element["type"] == "text-private" || element["var"]?.lowercased().contains("password") == true
  }

  /// An element reduced to its name and some attributes.
  private static func hidden(_ element: XMLElement, but shown: Set<String> = ["mechanism"]) -> XMLElement {
    var element = element
    for index in element.attributes.indices where !shown.contains(element.attributes[index].name.local) {
      element.attributes[index].value = mark
    }
    if !element.children.isEmpty { element.children = [.text(mark)] }
    return element
  }

  private static let mark = "[secret]"
  private static let publicOfField: Set = ["type", "var", "label"]

  /// The visible elements of authentication: RFC 6120 §6, XEP-0388, XEP-0484.
  private static let publicNames: [String: Set<String>] = [
    Namespaces.sasl: ["mechanisms", "mechanism", "failure", "text", "abort"],
    Namespaces.sasl2: [
      "authentication", "mechanism", "inline", "authenticate", "user-agent", "software", "device", "success",
      "authorization-identifier", "continue", "tasks", "task", "failure", "text", "abort",
    ],
    Namespaces.fast: ["fast", "mechanism", "request-token", "invalidate"],
    Namespaces.loginExtension: [],
  ]
}
