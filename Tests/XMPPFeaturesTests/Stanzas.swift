import XMPPStanza
import XMPPXML

/// The message of a text of XML in the namespace of a client's stream.
func message(_ xml: String) throws -> Message { try stanza(xml, Message.init) }

/// The IQ of a text of XML in the namespace of a client's stream.
func iq(_ xml: String) throws -> IQ { try stanza(xml, IQ.init) }

private func stanza<Kind>(_ xml: String, _ make: (XMLElement) -> Kind?) throws -> Kind {
  let parser = XMLStreamParser()
  let stream = "<stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams'>" + xml
  for event in try parser.parse(Array(stream.utf8)) {
    if case .element(let element) = event, let stanza = make(element) { return stanza }
  }
  throw NoMessage()
}

struct NoMessage: Error {}
