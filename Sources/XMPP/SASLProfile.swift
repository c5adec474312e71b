import XMPPSASL
import XMPPStanza
import XMPPXML

/// The elements of an authentication, in which the profiles of RFC 6120 §6 and XEP-0388 mainly differ.
enum SASLProfile: Sendable, Equatable {
  case core, sasl2

  var namespace: String { self == .core ? Namespaces.sasl : Namespaces.sasl2 }

  /// - Parameter inline: further requests within a SASL2 authentication.
  func request(
    _ mechanism: SASLMechanismName, initialResponse: [UInt8]?, inline: [XMLElement] = []
  ) -> XMLElement {
    switch self {
    case .core:
      // An empty initial response is a single equals sign (RFC 6120 §6.4.2).
      let text = initialResponse.map { $0.isEmpty ? "=" : Base64.encode($0) }
      return XMLElement(
        "auth", namespace: namespace, attributes: ["mechanism": mechanism.rawValue], text: text)
    case .sasl2:
      let response = initialResponse.map {
        XMLElement("initial-response", namespace: namespace, text: Base64.encode($0))
      }
      return XMLElement(
        "authenticate", namespace: namespace, attributes: ["mechanism": mechanism.rawValue],
        children: [response].compactMap(\.self) + inline)
    }
  }

  func response(_ bytes: [UInt8]) -> XMLElement {
    XMLElement("response", namespace: namespace, text: bytes.isEmpty ? nil : Base64.encode(bytes))
  }

  /// The data of the server's mechanism in a challenge or success.
  func data(of element: XMLElement) throws(SASLError) -> [UInt8]? {
    guard self == .sasl2, element.name.local != "challenge" else { return try Self.decode(element.text) }
    guard let data = element.first("additional-data", namespace) else { return nil }
    // ejabberd sends an empty element where there is no data.
    return try Self.decode(data.text)
  }

  private static func decode(_ text: String) throws(SASLError) -> [UInt8]? {
    if text.isEmpty { return nil }
    if text == "=" { return [] }
    guard let bytes = Base64.decode(text) else {
      throw SASLError(.malformed, "the server's SASL data is not base64")
    }
    return bytes
  }
}
