import TestSupport
import Testing
import XMPPStanza
import XMPPXML

@testable import XMPPFeatures

@Suite("vCards") struct VCardTests {
  /// After XEP-0054, example 2.
  private static let published = """
    <iq id='v1' type='result'><vCard xmlns='vcard-temp'><FN>Peter Saint-Andre</FN>
    <N><FAMILY>Saint-Andre</FAMILY><GIVEN>Peter</GIVEN><MIDDLE/></N><NICKNAME>stpeter</NICKNAME>
    <URL>http://www.xmpp.org/xsf/people/stpeter.shtml</URL><BDAY>1966-08-06</BDAY>
    <ORG><ORGNAME>XMPP Standards Foundation</ORGNAME><ORGUNIT/></ORG><TITLE>Executive Director</TITLE>
    <ROLE>Patron Saint</ROLE><TEL><WORK/><VOICE/><NUMBER>303-308-3282</NUMBER></TEL>
    <TEL><HOME/><NUMBER/></TEL><EMAIL><INTERNET/><PREF/><USERID>stpeter@jabber.org</USERID></EMAIL>
    <JABBERID>stpeter@jabber.org</JABBERID><DESC>More information</DESC>
    <PHOTO><TYPE>image/jpeg</TYPE><BINVAL>AAAA</BINVAL></PHOTO></vCard></iq>
    """

  @Test("A vCard is read field by field, and a change keeps all of its other content.")
  func published() throws {
    var card = try #require(VCard(try iq(Self.published)))
    let texts = VCard.Field.allCases.map { card[$0] }
    #expect(
      texts == [
        "Peter Saint-Andre", "stpeter", "stpeter@jabber.org", "303-308-3282", "XMPP Standards Foundation",
        "Executive Director", "Patron Saint", "1966-08-06", "http://www.xmpp.org/xsf/people/stpeter.shtml",
        "stpeter@jabber.org", "More information",
      ])
    card[.name] = "Peter <P>"
    card[.email] = "p@example.org"
    card[.organization] = nil
    let sent = try #require(card.publication.payload.first)
    #expect(card.publication.type == .set && card.publication.to == nil)
    #expect(sent.first("FN")?.text == "Peter <P>" && sent.first("ORG") == nil)
    #expect(sent.first("EMAIL")?.elements.map(\.name.local) == ["INTERNET", "PREF", "USERID"])
    #expect(sent.first("EMAIL")?.first("USERID")?.text == "p@example.org")
    #expect(sent.first("PHOTO")?.first("BINVAL")?.text == "AAAA")
    #expect(sent.first("N")?.first("FAMILY")?.text == "Saint-Andre")
  }

  @Test("A missing vCard counts as empty and can be filled in, but any other error is not a vCard.")
  func absent() throws {
    func error(_ condition: String) throws -> IQ {
      try iq(
        "<iq id='1' type='error'><error type='cancel'><\(condition) xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/>"
          + "</error></iq>")
    }
    for answer in ["<iq id='1' type='result'/>", "<iq id='1' type='result'><x xmlns='y'>z</x></iq>"] {
      #expect(VCard(try iq(answer)) == VCard())
    }
    var card = try #require(VCard(try error("item-not-found")))
    #expect(VCard.Field.allCases.allSatisfy { card[$0] == nil })
    for field in VCard.Field.allCases { card[field] = field.rawValue }
    #expect(VCard.Field.allCases.allSatisfy { card[$0] == $0.rawValue })
    card[.note] = String(repeating: "é", count: 100_000)
    #expect(card[.note]?.count == VCard.maximumLength)
    for field in VCard.Field.allCases { card[field] = nil }
    #expect(card == VCard())
    #expect(VCard(try error("service-unavailable")) == nil)
  }
}
