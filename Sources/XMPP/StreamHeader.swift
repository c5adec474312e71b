import XMPPStanza
import XMPPTransport
import XMPPXML

/// The start tag of a stream (RFC 6120 §4.7).
enum StreamHeader {
  static func element(to domain: String, from: String?, language: String?) -> XMLElement {
    var header = XMLElement(
      "stream", namespace: Namespaces.streams, attributes: ["to": domain, "from": from, "version": "1.0"])
    if let language { header[XMLName("lang", "http://www.w3.org/XML/1998/namespace")] = language }
    return header
  }

  /// The declaration and the start tag, left open, with `jabber:client` as the content namespace (§4.8.2).
  static func write(_ header: XMLElement, into bytes: inout [UInt8]) {
    bytes +=
      "<?xml version='1.0'?><stream:stream xmlns='jabber:client' xmlns:stream='\(Namespaces.streams)'".utf8
    for attribute in header.attributes {
      let prefix = attribute.name.namespace.isEmpty ? "" : "xml:"
      bytes += " \(prefix)\(attribute.name.local)='".utf8
      XMLWriter.write(attributeValue: attribute.value, into: &bytes)
      bytes += "'".utf8
    }
    bytes += ">".utf8
  }

  static let close = Array("</stream:stream>".utf8)

  /// The attribute that names the namespace of the stanzas.
  static let contentNamespace = XMLName("xmlns", "http://www.w3.org/2000/xmlns/")

  /// The header is one of XMPP, but of another stream than the requested one.
  struct Mismatch: Sendable {
    var condition: StreamError.Condition
    var reason: ErrorReason
  }

  /// A difference in the server's name (§4.7.1) or the namespace of the stanzas (§4.8.2). Some servers leave out both.
  static func mismatch(of header: XMLElement, with account: JID) -> Mismatch? {
    if let namespace = header[contentNamespace], ![Namespaces.client, Namespaces.streams].contains(namespace)
    {
      return Mismatch(
        condition: .invalidNamespace,
        reason: .says(.notForClients, String(namespace.prefix(64))))
    }
    guard let from = header["from"] else { return nil }
    if let jid = try? JID(from), jid.local == nil, jid.isBare, jid.asciiDomain == account.asciiDomain {
      return nil
    }
    return Mismatch(
      condition: .invalidFrom, reason: .says(.otherDomain, String(from.prefix(64)), account.domain))
  }

  /// Refuses a root element that is not a stream (§4.8.1), and a server older than RFC 3920 (§4.7.5).
  static func check(_ header: XMLElement, stage: XMPPError.Stage) throws(XMPPError) {
    guard header.name == XMLName("stream", Namespaces.streams) else {
      throw XMPPError(.protocolError, stage: stage, .says(.notXMPP, header.name.local))
    }
    let major = header["version"].flatMap { Int($0.prefix { $0 != "." }) }
    guard let major, major >= 1 else {
      throw XMPPError(.protocolError, stage: stage, .says(.oldXMPP))
    }
  }
}
