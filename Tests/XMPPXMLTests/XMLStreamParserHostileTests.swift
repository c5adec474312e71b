import Testing
import XMPPXML

/// What a hostile peer sends: each ends the stream, with bounded memory.
@Suite struct XMLStreamParserHostileTests {
  private static let billionLaughs =
    "<!DOCTYPE s [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;'><!ENTITY c '&b;&b;&b;&b;'>]><s><m>&c;</m></s>"

  @Test(
    "XML that is forbidden in a stream ends it.",
    arguments: [
      ("<!DOCTYPE s><s>", .restrictedXML), ("<!DOCTYPE s SYSTEM 'file:///etc/passwd'><s>", .restrictedXML),
      (billionLaughs, .restrictedXML), ("<!-- x --><s>", .restrictedXML), ("<s><!-- x -->", .restrictedXML),
      ("<s><m><!-- x --></m>", .restrictedXML), ("<?php x ?><s>", .restrictedXML),
      ("<s><?php x ?>", .restrictedXML), ("<s><m>&nbsp;</m>", .restrictedXML),
      ("<s><m a='&nbsp;'/>", .restrictedXML), ("<s a='&xxe;'>", .restrictedXML),
      (header + "<?xml version='1.0'?>", .notWellFormed), (header + header, .notWellFormed),
      (" <?xml version='1.0'?><s>", .notWellFormed), ("<s><!DOCTYPE s>     ", .notWellFormed),
      ("<s><s>", .badFormat), ("<s><a/> <s/>", .badFormat),
      ("<x:s xmlns:x='u'><y:s xmlns:y='u' a='b'/>", .badFormat),
      ("<s><![CDATA[x]]>", .badFormat), ("<s>text<a/>", .badFormat), ("<s>&#65;<a/>", .badFormat),
      ("<x:s>", .badNamespacePrefix), ("<s><x:m/>", .badNamespacePrefix),
      ("<s><m x:a=''/>", .badNamespacePrefix),
      ("<s><a></b>", .notWellFormed), ("<s><a b='1' b='2'/>", .notWellFormed),
      ("<s><a b=1/>", .notWellFormed),
      ("<s xmlns:p='u' xmlns:q='u'><a p:b='1' q:b='2'/>", .notWellFormed),
      ("<s><a b='<'/><c/>", .notWellFormed),
      ("<s xmlns:p=''>", .notWellFormed), ("<s xmlns='http://www.w3.org/2000/xmlns/'>", .notWellFormed),
      ("<s xmlns:xml='u'>", .notWellFormed), ("<s xmlns:xmlns='u'>", .notWellFormed),
      ("<s><a:b:c/>", .notWellFormed),
      ("<s><m>]]></m>", .notWellFormed), ("<s><m>&#0;</m>", .notWellFormed),
      ("<s><m>&#xFFFE;</m>", .notWellFormed),
      ("<s><m>&#xD800;</m>", .notWellFormed), ("<s><m>&#x110000;</m>", .notWellFormed),
      ("<s><m>& </m>;", .notWellFormed),
      ("<s><m>\u{0}</m>", .notWellFormed), ("<s><m>\u{1}</m>", .notWellFormed),
      ("<s><m>\u{FFFF}</m>", .notWellFormed),
      ("<s><m a='\u{1B}'/>", .notWellFormed), ("<s><m \u{0}/>", .notWellFormed),
      ("<s \u{0}>", .notWellFormed),
      ("<s\u{0}>", .notWellFormed), ("<s><\u{0}>", .notWellFormed), ("<s> \u{0} <a/>", .notWellFormed),
      ("\u{0}\u{0}\u{0}\u{0}", .notWellFormed), ("HTTP/1.1 400 Bad Request\r\n", .notWellFormed),
      ("\u{16}\u{3}\u{3}\u{0}\u{2}", .notWellFormed), ("\u{FEFF}<s>", .notWellFormed),
      ("<?xml version='1.0' encoding='ISO-8859-1'?><s>", .unsupportedEncoding),
      ("<?xml version='1.0' encoding='UTF-16'?><s>", .unsupportedEncoding),
      ("<?xml version='1.0' encoding='nonsense'?><s>", .unsupportedEncoding),
    ] as [(String, XMLStreamError.Code)])
  func refused(_ xml: String, _ code: XMLStreamError.Code) {
    let reading = Reading.everyWay(xml)
    #expect(reading.error == code)
  }

  @Test(
    "An element counts as a second header only if it is a child of the root with the same name and namespace.",
    arguments: ["<a><s/></a>", "<s xmlns='u'/>", "<x:s xmlns:x='u'/>"])
  func noHeader(_ stanza: String) {
    #expect(Reading.everyWay("<s>\(stanza)</s>").elements.count == 1)
  }

  @Test("A header may declare UTF-8 as its encoding, in upper or lower case.", arguments: ["UTF-8", "utf-8"])
  func utf8(_ name: String) {
    #expect(Reading.everyWay("<?xml version='1.0' encoding='\(name)'?><s>").events.count == 1)
  }

  @Test(
    "Bytes that are not UTF-8 end the stream at any place.",
    arguments: [
      [0x80], [0xC3], [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80],
      [0xF0, 0x80, 0x80, 0x80],
      [0xF4, 0x90, 0x80, 0x80], [0xF8, 0x88, 0x80, 0x80, 0x80], [0xFE], [0xFF], [0xE2, 0x82],
      [0xF0, 0x9F, 0x98],
      [0xEF, 0xBF, 0xBE],
    ] as [[UInt8]])
  func invalidUTF8(_ bytes: [UInt8]) {
    for (before, after) in [
      ("<s><m>", "</m><x/>     "), ("<s><m>a ü ", " b</m>"), ("<s><m a='", "'/>"),
      ("<s><m><![CDATA[", "]]></m>"), ("<s><m><b/><![CDATA[", "]]></m>"), ("<s><m><![CDATA[", "]]><b/></m>"),
      ("<s><m", "/>    "), ("<s><m ", "='x'/>"), ("<s xmlns='u", "'>    "), ("<", " />   "),
    ] {
      let reading = Reading.everyWay(Array(before.utf8) + bytes + Array(after.utf8))
      #expect(reading.error != nil, "\(before)…\(after)")
      #expect(reading.elements.isEmpty)
    }
  }

  @Test("UTF-16 and UTF-32 end the stream, with or without a byte order mark.")
  func otherEncodings() {
    let text = "<?xml version='1.0'?><s>"
    let utf16: [UInt8] = text.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
    let utf32: [UInt8] = text.utf8.flatMap { [$0, 0, 0, 0] }
    for bytes in [
      utf16, [0xFF, 0xFE] + utf16, utf32, [0xFF, 0xFE, 0, 0] + utf32, [0x4C, 0x6F, 0xA7, 0x94],
    ] {
      #expect(Reading.everyWay(bytes).error != nil)
    }
  }

  /// Feeds a start and then, without end, what follows; returns the error and how many bytes it took.
  private func feed(
    _ start: String, thenEndlessly next: (Int) -> String, limits: XMLStreamParser.Limits = .init()
  ) -> (XMLStreamError.Code?, bytes: Int) {
    let parser = XMLStreamParser(limits: limits)
    var piece = Array(start.utf8)
    var bytes = 0
    var number = 0
    while bytes < 100_000_000 {
      bytes += piece.count
      do {
        _ = try parser.parse(piece)
      } catch {
        return (error.code, bytes)
      }
      piece.removeAll(keepingCapacity: true)
      while piece.count < 1400 {
        piece.append(contentsOf: next(number).utf8)
        number += 1
      }
    }
    return (nil, bytes)
  }

  @Test(
    "A token without an end is stopped at the size limit of a token.",
    arguments: [
      "<", "<s><", "<s><m a='", "<s><m a='1' ", "<s><m xmlns='", "<s><m>&", "<s><m>&#", "<s><m></",
      "<s><m></m ", "<s><!--",
      "<s><m><![CDATA[", "<?xml version='1.0' ", "<?x ", "<!DOCTYPE s [", "<s><?x ",
    ])
  func endlessToken(_ start: String) {
    let (error, bytes) = feed(start) { _ in "0x" }
    #expect(error != nil)
    #expect(bytes <= (64 + 16) << 10)
  }

  @Test(
    "An element without an end is stopped at the size limit of an element.",
    arguments: [
      ("<s><m>", "text "), ("<s><m>", "<a/>"), ("<s><m>", "<a b='c'>d</a>"), ("<s><m>", "    "),
      ("<s><m>", "&amp;"),
      ("<s><m>", "<![CDATA[x]]>"), ("<s><m>", "ü"), (" ", "\n"),
    ])
  func endlessElement(_ start: String, _ unit: String) {
    let limits = XMLStreamParser.Limits(maximumElementBytes: 200_000)
    let (error, bytes) = feed(start, thenEndlessly: { _ in unit }, limits: limits)
    #expect(error == .limitExceeded)
    #expect((200_000...220_000).contains(bytes))
    let (standard, more) = feed(start) { _ in unit }
    #expect(standard == .limitExceeded)
    #expect(more <= (4 << 20) + 20_000)
  }

  @Test("An element of exactly the maximum size is read, and one with one more byte ends the stream.")
  func elementLimit() {
    let limits = XMLStreamParser.Limits(maximumElementBytes: 40)
    let fits = "<a b='1234567890'>12345678901234567</a >"
    #expect(fits.utf8.count == 40)
    let reading = Reading.everyWay("<s> " + fits + fits + "   " + fits + "</s>", limits: limits)
    #expect(reading.elements.count == 3)
    #expect(reading.error == nil)
    let tooLong = Reading.everyWay(
      "<s>" + fits + fits.replacing("</a >", with: "</a  >") + fits, limits: limits)
    #expect(tooLong.elements.count == 1)
    #expect(tooLong.error == .limitExceeded)
    #expect(
      Reading.everyWay("<s a='1234567890123456789012345678901234567890'>", limits: limits).error
        == .limitExceeded)
  }

  @Test("The depth of elements is limited.")
  func depth() {
    let limits = XMLStreamParser.Limits(maximumDepth: 5)
    #expect(Reading.everyWay("<s><a><a><a><a/></a></a></a>", limits: limits).elements.count == 1)
    #expect(Reading.everyWay("<s><a><a><a><a><a/></a></a></a></a>", limits: limits).error == .limitExceeded)
    let (error, bytes) = feed("<s>") { _ in "<a>" }
    #expect(error == .limitExceeded)
    #expect(bytes < 3000)
    let deep = Array(("<s>" + String(repeating: "<a>", count: 10_000)).utf8)
    #expect(throws: XMLStreamError(.limitExceeded, "more than 128 elements inside each other")) {
      try XMLStreamParser().parse(deep)
    }
  }

  @Test("The number of attributes is limited, namespace declarations included.")
  func attributes() {
    let limits = XMLStreamParser.Limits(maximumAttributes: 3)
    #expect(Reading.everyWay("<s><a b='' c='' xmlns:d='u'/>", limits: limits).elements.count == 1)
    #expect(Reading.everyWay("<s><a b='' c='' d='' xmlns:e='u'/>", limits: limits).error == .limitExceeded)
    let many = (0..<10_000).map { " a\($0)=''" }.joined()
    #expect(Reading([Array("<s><m\(many)/>".utf8)[...]]).error == .limitExceeded)
    let some = (0..<257).map { " a\($0)=''" }.joined()
    #expect(Reading([Array("<s><m\(some)/>".utf8)[...]]).error == .limitExceeded)
  }

  @Test(
    "The number of namespaces in scope is limited, but not the number of namespaces in consecutive elements."
  )
  func namespacesInScope() {
    let limits = XMLStreamParser.Limits(maximumNamespaces: 4)
    let nested = "<s xmlns='u:0'><a xmlns='u:1'><a xmlns:p='u:2'><a xmlns='u:3'/></a></a>"
    #expect(Reading.everyWay(nested, limits: limits).elements.count == 1)
    #expect(
      Reading.everyWay(
        nested.replacing("<a xmlns='u:3'/>", with: "<a xmlns='u:3' xmlns:q='u:4'/>"), limits: limits
      ).error == .limitExceeded)
    #expect(
      Reading.everyWay("<s>" + String(repeating: "<a xmlns='u'/>", count: 20), limits: limits).elements.count
        == 20)
  }

  @Test("A stream that uses new names without end is stopped when the dictionary of libxml2 is full.")
  func distinctNames() {
    let (error, bytes) = feed("<s>") { "<n\($0)-of-a-name-that-is-used-only-once-and-never-comes-back/>" }
    #expect(error != nil)
    #expect(bytes < 30_000_000)
  }

  @Test("The text of an XML error is short and says what libxml2 has found.")
  func message() {
    let error = #expect(throws: XMLStreamError.self) {
      try XMLStreamParser().parse(Array("<s><\(String(repeating: "a", count: 1000))></b>".utf8))
    }
    #expect(error?.code == .notWellFormed)
    #expect(error?.message.hasPrefix("Opening and ending tag mismatch: aaa") == true)
    #expect(error.map { $0.message.utf8.count } ?? 0 <= 200)
  }
}
