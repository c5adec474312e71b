import FoundationEssentials
import TestSupport
import Testing
import XMPPStanza

@testable import XMPPFeatures

@Suite struct StanzaIDTests {
  @Test("A stanza id counts only if it was assigned by the archive in question.")
  func given() throws {
    let stanza = try message(
      "<message from='a@b/c'><stanza-id xmlns='urn:xmpp:sid:0' by='room@muc' id='1'/>"
        + "<stanza-id xmlns='urn:xmpp:sid:0' by='ME@b' id='2'/><stanza-id xmlns='other' by='me@b' id='3'/>"
        + "<origin-id xmlns='urn:xmpp:sid:0' id='4'/></message>")
    #expect(StanzaID.given(to: stanza, by: try JID("me@b")) == "2")
    #expect(StanzaID.given(to: stanza, by: try JID("you@b")) == nil)
    #expect(StanzaID.origin(of: stanza) == "4")
  }

  @Test("A stanza id that is empty or very long is ignored.")
  func bounded() throws {
    for id in ["", String(repeating: "x", count: 1025)] {
      let stanza = try message("<message><origin-id xmlns='urn:xmpp:sid:0' id='\(id)'/></message>")
      #expect(StanzaID.origin(of: stanza) == nil)
    }
  }

  @Test("The time of a delayed stanza is read with and without a fraction of a second, if it is valid.")
  func delay() throws {
    func stamp(_ text: String) throws -> Double? {
      Delay(try element("<delay xmlns='urn:xmpp:delay' stamp='\(text)'/>"))?.stamp.timeIntervalSince1970
    }
    #expect(try stamp("2002-09-10T23:08:25Z") == 1_031_699_305)
    #expect(try stamp("2002-09-10T23:08:25.25Z") == 1_031_699_305.25)
    for text in ["", "yesterday", "292277026596-12-04T15:30:07Z", "2002-13-10T23:08:25Z", "1e400"] {
      #expect(try stamp(text) == nil, "\(text)")
    }
    let now = Delay(stamp: Date(timeIntervalSince1970: 1_031_699_305.25))
    #expect(Delay(now.element) == now)
  }
}
