import Testing
import XMPPXML

/// What goes beyond the limits is left out where that was asked for, and everything else is read.
@Suite struct XMLStreamParserExcessTests {
  private static let limits = XMLStreamParser.Limits(
    maximumDepth: 4, maximumAttributes: 3, maximumNamespaces: 4, maximumExcessTokenBytes: 200)

  @Test(
    "A skipped stanza is reported with the start tags before the excess, and the next stanza is read.",
    arguments: [
      ("<m id='1'>a<x/><b><c><d/>e</c></b>f<y/></m>", true, "more than 4 elements inside each other"),
      (
        "<m id='1'><b>g<c><d><e x='y'>f</e></d><d/></c></b></m>", true,
        "more than 4 elements inside each other"
      ),
      ("<m id='1'>a<b c='' d='' e='' f=''><b/></b>g</m>", false, "more than 3 attributes"),
      ("<m id='1'><b c='' d='' e='' f=''/><b c='' d='' e='' f=''/></m>", false, "more than 3 attributes"),
      (
        "<m id='1'><b xmlns:a='u' xmlns:b='u'><c xmlns:a='u' xmlns:b='u' xmlns:d='u'><d:e/></c></b></m>",
        true, "more than 4 namespaces"
      ),
    ])
  func inside(_ xml: String, _ isDeep: Bool, _ excess: String) {
    let reading = Reading.everyWay("<s><a/>\(xml)<z><y/></z></s>", limits: Self.limits)
    #expect(reading.error == nil)
    #expect(
      Array(reading.events.dropFirst()) == [
        .element(XMLElement("a", namespace: "")),
        .leftOut(
          XMLElement(
            "m", namespace: "", attributes: ["id": "1"],
            children: isDeep ? [XMLElement("b", namespace: "")] : []),
          excess, octets: xml.utf8.count),
        .element(XMLElement("z", namespace: "", children: [XMLElement("y", namespace: "")])), .closed,
      ])
    var strict = Self.limits
    strict.maximumExcessTokenBytes = 0
    #expect(Reading.everyWay("<s>\(xml)</s>", limits: strict).error == .limitExceeded)
  }

  @Test("A skipped stanza is reported without its attributes if it has too many of them.")
  func ownAttributes() {
    let stanza = "<m id='1' a='' b='' c=''>text<b/></m>"
    let reading = Reading.everyWay("<s>\(stanza)<z/></s>", limits: Self.limits)
    #expect(
      Array(reading.events.dropFirst()) == [
        .leftOut(XMLElement("m", namespace: ""), "more than 3 attributes", octets: stanza.utf8.count),
        .element(XMLElement("z", namespace: "")), .closed,
      ])
  }

  @Test(
    "An XML error inside a skipped stanza still ends the stream.",
    arguments: ["</b>", "<!-- -->", "&x;", "<x:y/>", "\u{1}"])
  func wrong(_ xml: String) {
    #expect(Reading.everyWay("<s><m><b><c><d>\(xml)<y/>", limits: Self.limits).error != nil)
  }

  @Test("The size of a skipped stanza is limited.")
  func bounded() {
    var limits = Self.limits
    limits.maximumElementBytes = 200
    let text = String(repeating: "x", count: 200)
    for xml in ["<m><b><c><d>\(text)</d></c></b></m>", "<m a='' b='' c='' d=''>\(text)</m>"] {
      #expect(Reading.everyWay("<s>\(xml)<z/>", limits: limits).error == .limitExceeded)
    }
  }

  @Test("Excess in the header of the stream ends the stream.")
  func root() {
    #expect(Reading.everyWay("<s a='' b='' c='' d=''><m/>", limits: Self.limits).error == .limitExceeded)
  }

  @Test("Stanzas that are as large as servers accept from strangers are read or skipped.")
  func real() throws {
    let size = 512 << 10
    let parser = XMLStreamParser(limits: .init(maximumExcessTokenBytes: 640 << 10))
    func events(_ stanza: String) throws -> [XMLStreamParser.Event] {
      try parser.parse(Array((stanza + "<z/>").utf8))
    }
    _ = try parser.parse(Array("<s>".utf8))
    let deep = String(repeating: "<a>", count: size / 7) + String(repeating: "</a>", count: size / 7)
    let wide = (0..<size / 16).map { " a\($0)=''" }.joined()
    let spaces = (0..<size / 20).map { "<a xmlns:a\($0)='u'>" }.joined()
    let ends = String(repeating: "</a>", count: size / 20)
    let long = String(repeating: "x", count: size / 2)
    for stanza in ["<m>\(deep)</m>", "<m\(wide)/>", "<m><b\(wide)/></m>", "<m>\(spaces)\(ends)</m>"] {
      let events = try events(stanza)
      #expect(events.count == 2)
      guard case .leftOut? = events.first else {
        Issue.record("read: \(stanza.prefix(40))")
        continue
      }
    }
    for stanza in ["<m a='\(long)'/>", "<\(long)></\(long)>", "<m><\(long)/></m>"] {
      #expect(try events(stanza).count == 2)
    }
    #expect(throws: XMLStreamError.self) { try parser.parse(Array("<m><a a='\(long)\(long)\(long)'/>".utf8)) }
  }

  // MARK: Breadth

  private static let narrow = XMLStreamParser.Limits(
    maximumElements: 6, maximumAttributesInAll: 5, maximumNames: 9)

  @Test(
    "A stanza with too many elements, attributes or names is skipped, and the stream goes on.",
    arguments: [
      ("<m id='1'>\(String(repeating: "<b/>", count: 6))</m>", [], "more than 6 elements"),
      (
        "<m id='1'><b>\(String(repeating: "t<c/>", count: 3))</b></m>", ["b"], "more than 6 elements"
      ),
      (
        "<m id='1'><b><b a='/>' b=\"'\" c=''><c/></b><b a='' b=''>&gt;<![CDATA[</m>]]]><c/>></b></b><b/></m>",
        ["b"], "more than 5 attributes in all"
      ),
      (
        "<m id='1'><b xmlns:a='u' xmlns:b='u' xmlns:c='u' xmlns:d='u' xmlns:e='u'/><b></b ></m>", [],
        "more than 5 attributes in all"
      ),
      (
        "<m id='1'><b/><f xmlns:n='u1'>t<n:n n1='' n2=''/><n:n4 n5='>'><n6 /></n:n4><n7/></f><n8/></m>",
        ["f"],
        "more than 9 names"
      ),
    ])
  func breadth(_ xml: String, _ children: [String], _ excess: String) {
    let reading = Reading.everyWay("<s><a/>\(xml)<z><y/></z>\(xml) <z/></s>", limits: Self.narrow)
    #expect(reading.error == nil)
    let leftOut = { (event: XMLStreamParser.Event?) in
      guard case .leftOut(let element, let reason, let octets)? = event else { return false }
      return element.name == XMLName("m") && element["id"] == "1" && reason == excess
        && element.elements.map(\.name.local) == children && octets == xml.utf8.count
    }
    #expect(reading.events.count == 7)
    #expect(reading.elements.map(\.name.local) == ["a", "z", "z"])
    #expect(leftOut(reading.events.dropFirst(2).first))
    #expect(leftOut(reading.events.dropFirst(4).first))
  }

  @Test("A stanza with exactly the allowed number of elements, attributes and names is read.")
  func fits() {
    let xml = "<m id='1'>t<b a=''/><b xmlns='u1'/>t<d a='' b=''/></m>"
    let reading = Reading.everyWay("<s>\(xml)\(xml)</s>", limits: Self.narrow)
    #expect(reading.elements.count == 2 && reading.error == nil)
  }

  @Test(
    "XML that is forbidden in a stream ends it even inside a skipped part.",
    arguments: ["<!-- x -->", "<?x?>", "<!DOCTYPE x>", "< b/>"])
  func restricted(_ xml: String) {
    let many = String(repeating: "<b/>", count: 7)
    #expect(Reading.everyWay("<s><m>\(many)\(xml)</m>", limits: Self.narrow).error != nil)
  }

  @Test("The size of a skipped part is limited, and so is the size of each tag in it.")
  func boundedBreadth() {
    var limits = Self.narrow
    limits.maximumElementBytes = 200
    let many = String(repeating: "<b/>", count: 7)
    let text = String(repeating: "x", count: 200)
    #expect(Reading.everyWay("<s><m>\(many)\(text)</m>", limits: limits).error == .limitExceeded)
    limits.maximumElementBytes = 4 << 20
    let parser = XMLStreamParser(limits: limits)
    #expect(throws: XMLStreamError.self) {
      _ = try parser.parse(Array("<s><m>\(many)<c a='".utf8))
      for _ in 0..<1000 { _ = try parser.parse(Array(text.utf8)) }
    }
  }

  @Test("A roster of 20,000 contacts and a picture of one megabyte are read.")
  func large() throws {
    let contact = { (number: Int) in
      "<item jid='contact-number-\(number)@somewhere.example' name='Contact number \(number)' subscription='both'"
        + " ask='subscribe'><group>Friends</group><group>Number \(number % 100)</group></item>"
    }
    let list =
      "<iq type='result'><query xmlns='jabber:iq:roster'>\((0..<20_000).map(contact).joined())</query></iq>"
    let lines = String(repeating: String(repeating: "QUJD", count: 19) + "&#10;", count: 18_400)
    let picture = "<iq type='result'><vCard xmlns='vcard-temp'><BINVAL>\(lines)</BINVAL></vCard></iq>"
    let reading = Reading(["<s>\(list)\(picture)</s>"].map { Array($0.utf8)[...] })
    #expect(reading.elements.count == 2 && reading.error == nil)
    #expect(reading.elements.first?.elements.first?.elements.count == 20_000)
  }

  @Test("A start tag that is too long is reported with its name, and with its id if that comes first.")
  func longTag() throws {
    let parser = XMLStreamParser(limits: .init(maximumExcessTokenBytes: 1 << 20))
    _ = try parser.parse(Array("<s xmlns='u' xmlns:p='v'>".utf8))
    let long = String(repeating: "x", count: 100_000)
    let names = (0..<10_000).map { " a\($0)=''" }.joined()
    for (tag, name, id) in [
      ("m id='1' a='\(long)'", XMLName("m", "u"), "1"), ("p:m\n id=\"1\"\(names)", XMLName("m", "v"), "1"),
      ("m a='\(long)' id='1'", XMLName("m", "u"), nil), (long, XMLName(""), nil),
    ] as [(String, XMLName, String?)] {
      let stanza = "<\(tag)><b/><c>'</c></\(tag.prefix { $0 != " " && $0 != "\n" })>"
      let events = try parser.parse(Array("\(stanza)<z/>".utf8))
      guard case .leftOut(let element, _, stanza.utf8.count)? = events.first, events.count == 2 else {
        Issue.record("\(tag.prefix(30)): \(events.count) events")
        continue
      }
      #expect(element.name == name && element["id"] == id, "\(element)")
    }
  }
}
