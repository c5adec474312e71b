import Testing
import XMPPXML

@Test("A first look.") func first() throws {
  let parser = XMLStreamParser()
  let e = try parser.parse(Array("<?xml version='1.0'?><stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' id='1'><proceed xmlns='a'/>x".utf8.dropLast()))
  print(e)
  #expect(e.count == 2)
  #expect(parser.bytesAfterLastEvent == 0)
}
