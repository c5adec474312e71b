import XMPPStanza
import XMPPXML

public enum WireDirection: String, Sendable {
  case sent, received
}

/// Elements as text for a person, with every secret replaced.
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

  /// SASL payloads carry passwords, proofs and tokens; so do the passwords of in-band registration and forms.
  private static func redacted(_ element: XMLElement) -> XMLElement {
    var element = element
    let isSecret = element.name.namespace == Namespaces.sasl && !publicSASL.contains(element.name.local)
    if isSecret || element.name.local == "password" {
      if !element.children.isEmpty { element.children = [.text("[secret]")] }
      return element
    }
    element.children = element.children.map { child in
      if case .element(let inner) = child { .element(redacted(inner)) } else { child }
    }
    return element
  }

  private static let publicSASL: Set = ["mechanisms", "mechanism", "failure", "text", "abort"]
}
