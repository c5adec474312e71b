import XMPPStanza
import XMPPXML

/// The elements of a text of XML, as they are read from a server's stream.
public func elements(_ xml: String) throws -> [XMLElement] {
  let stream = "<stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams'>" + xml
  return try XMLStreamParser().parse(Array(stream.utf8)).compactMap {
    if case .element(let element) = $0 { element } else { nil }
  }
}

/// The first element of a text of XML, as it is read from a server's stream.
public func element(_ xml: String) throws -> XMLElement {
  guard let first = try elements(xml).first else { throw TestSupportError("no element: \(xml)") }
  return first
}

/// The message that a text of XML is.
public func message(_ xml: String) throws -> Message {
  guard let message = Message(try element(xml)) else { throw TestSupportError("no message: \(xml)") }
  return message
}

/// The IQ that a text of XML is.
public func iq(_ xml: String) throws -> IQ {
  guard let iq = IQ(try element(xml)) else { throw TestSupportError("no IQ: \(xml)") }
  return iq
}
