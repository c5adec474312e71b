import Testing
import XMPPXML

/// What goes beyond the limits is left out where that was asked for, and everything else is read.
@Suite struct XMLStreamParserExcessTests {
  private static let limits = XMLStreamParser.Limits(
    maximumDepth: 4, maximumAttributes: 3, maximumNamespaces: 4, maximumExcessTokenBytes: 200)

  @Test(
    "Of a child of the root that is too much the start tags before that are told, and the next one is read.",
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
          excess),
        .element(XMLElement("z", namespace: "", children: [XMLElement("y", namespace: "")])), .closed,
      ])
    var strict = Self.limits
    strict.maximumExcessTokenBytes = 0
    #expect(Reading.everyWay("<s>\(xml)</s>", limits: strict).error == .limitExceeded)
  }

  @Test("Attributes that are too many are not kept.")
  func ownAttributes() {
    let reading = Reading.everyWay("<s><m id='1' a='' b='' c=''>text<b/></m><z/></s>", limits: Self.limits)
    #expect(
      Array(reading.events.dropFirst()) == [
        .leftOut(XMLElement("m", namespace: ""), "more than 3 attributes"),
        .element(XMLElement("z", namespace: "")), .closed,
      ])
  }

  @Test(
    "What is wrong in it ends the stream all the same.",
    arguments: ["</b>", "<!-- -->", "&x;", "<x:y/>", "\u{1}"])
  func wrong(_ xml: String) {
    #expect(Reading.everyWay("<s><m><b><c><d>\(xml)<y/>", limits: Self.limits).error != nil)
  }

  @Test("It is bounded, too.")
  func bounded() {
    var limits = Self.limits
    limits.maximumElementBytes = 200
    let text = String(repeating: "x", count: 200)
    for xml in ["<m><b><c><d>\(text)</d></c></b></m>", "<m a='' b='' c='' d=''>\(text)</m>"] {
      #expect(Reading.everyWay("<s>\(xml)<z/>", limits: limits).error == .limitExceeded)
    }
  }

  @Test("Before the root is open nothing is left out.")
  func root() {
    #expect(Reading.everyWay("<s a='' b='' c='' d=''><m/>", limits: Self.limits).error == .limitExceeded)
  }

  @Test("What servers pass on is left out or read: as much as they take of a stranger.")
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
}
