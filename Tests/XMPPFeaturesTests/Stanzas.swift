import XMPPStanza
import XMPPXML

/// The message of a text of XML in the namespace of a client's stream.
func message(_ xml: String) throws -> Message {
  let parser = XMLStreamParser()
  let stream = "<stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams'>" + xml
  for event in try parser.parse(Array(stream.utf8)) {
    if case .element(let element) = event, let message = Message(element) { return message }
  }
  throw NoMessage()
}

struct NoMessage: Error {}
