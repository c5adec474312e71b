import Testing
import XMPPXML

@Suite struct XMLStreamParserTests {
  private let streams = "http://etherx.jabber.org/streams"

  @Test("A stream is read from its header through its elements to its end.")
  func stream() {
    let reading = Reading.everyWay(
      header
        + "<stream:features><starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'><required/></starttls></stream:features>"
        + "<message to='a@b' type=\"chat\"><body>hello</body></message></stream:stream>")
    let xml = "http://www.w3.org/XML/1998/namespace"
    #expect(
      reading.events == [
        .opened(
          XMLElement(
            name: XMLName("stream", streams),
            attributes: [
              XMLAttribute(XMLName("id"), "c2f"), XMLAttribute(XMLName("from"), "example.org"),
              XMLAttribute(XMLName("version"), "1.0"), XMLAttribute(XMLName("lang", xml), "en"),
            ])),
        .element(
          XMLElement(
            "features", namespace: streams,
            children: [
              XMLElement(
                "starttls", namespace: "urn:ietf:params:xml:ns:xmpp-tls",
                children: [XMLElement("required", namespace: "urn:ietf:params:xml:ns:xmpp-tls")])
            ])),
        .element(
          XMLElement(
            "message", namespace: "jabber:client", attributes: ["to": "a@b", "type": "chat"],
            children: [XMLElement("body", namespace: "jabber:client", text: "hello")])),
        .closed,
      ])
    #expect(reading.error == nil)
  }

  @Test(
    "Text and attribute values are decoded.",
    arguments: [
      ("a &lt;&amp;&gt; &quot;&apos; b", "a <&> \"' b"), ("&#65;&#x1F600;", "A😀"),
      ("<![CDATA[<a>&amp;]]>", "<a>&amp;"),
      ("x<![CDATA[]]>y<![CDATA[ z ]]>", "xy z "), ("über 了解 😀 e\u{301}", "über 了解 😀 e\u{301}"),
      ("one\r\ntwo\rthree\nfour", "one\ntwo\nthree\nfour"), ("&#13;\t", "\r\t"), (" ", " "), ("]] >", "]] >"),
      ("\u{85}\u{2028}\u{7F}", "\u{85}\u{2028}\u{7F}"),
    ])
  func decoded(_ written: String, _ read: String) {
    let reading = Reading.everyWay(header + "<a>" + written + "</a>")
    #expect(reading.elements.map(\.text) == [read])
    #expect(reading.elements.first?.children == [.text(read)])
    if !written.contains("CDATA") {
      let reading = Reading.everyWay(header + "<a b='" + written.replacing("'", with: "&apos;") + "'/>")
      // XML 1.0 §3.3.3: white space that is not written as a reference becomes a space.
      let normalized = read.replacing("\n", with: " ").replacing("\t", with: " ")
      #expect(reading.elements.map { $0["b"] } == [normalized])
    }
  }

  @Test(
    "Text longer than the blocks of libxml2 arrives in one piece.",
    arguments: ["a", "ü", "了", "😀", "&amp;", "] "])
  func longText(_ unit: String) {
    let text = String(repeating: unit, count: 700)
    let reading = Reading.everyWay("<s xmlns='jabber:client'><b>" + text + "</b><b c='" + text + "'/>")
    #expect(reading.elements.first?.children == [.text(text.replacing("&amp;", with: "&"))])
    #expect(reading.elements.last?["c"] == text.replacing("&amp;", with: "&"))
  }

  @Test("Mixed content keeps the order of its texts and elements.")
  func mixed() {
    let reading = Reading.everyWay("<s><a>1<b>2</b>3<c/><c/>4&amp;5<d>6</d></a>")
    let a = XMLElement(
      name: XMLName("a"),
      children: [
        .text("1"), .element(XMLElement("b", namespace: "", text: "2")), .text("3"),
        .element(XMLElement("c", namespace: "")), .element(XMLElement("c", namespace: "")), .text("4&5"),
        .element(XMLElement("d", namespace: "", text: "6")),
      ])
    #expect(reading.elements == [a])
  }

  @Test("Prefixes are resolved, even where an element redefines them.")
  func namespaces() {
    let reading = Reading.everyWay(
      "<p:s xmlns:p='u:p' xmlns='u:d'><p:a p:x='1' x='2'><b xmlns='' p:x='3' xmlns:p='u:q'><p:c/></b><p:c/></p:a>"
    )
    let a = XMLElement(
      name: XMLName("a", "u:p"),
      attributes: [XMLAttribute(XMLName("x", "u:p"), "1"), XMLAttribute(XMLName("x"), "2")],
      children: [
        .element(
          XMLElement(
            name: XMLName("b"), attributes: [XMLAttribute(XMLName("x", "u:q"), "3")],
            children: [.element(XMLElement(name: XMLName("c", "u:q")))])),
        .element(XMLElement(name: XMLName("c", "u:p"))),
      ])
    #expect(reading.events == [.opened(XMLElement(name: XMLName("s", "u:p"))), .element(a)])
  }

  @Test(
    "A namespace name need not be a URI.", arguments: ["vcard-temp", "not a URI at all", "ü", "%%%", "a:b|c"])
  func oddNamespaces(_ name: String) {
    let reading = Reading.everyWay(header + "<a xmlns='\(name)'/><p:a xmlns:p='\(name)'/>")
    #expect(reading.elements.map(\.name) == [XMLName("a", name), XMLName("a", name)])
  }

  @Test("White space between stanzas is ignored, in any amount.")
  func whiteSpace() throws {
    let limits = XMLStreamParser.Limits(maximumElementBytes: 1000, maximumTokenBytes: 1000)
    let parser = XMLStreamParser(limits: limits)
    #expect(try parser.parse(Array(header.utf8)).count == 1)
    for _ in 0..<20_000 { #expect(try parser.parse(Array(" \n\t \r\n".utf8)).isEmpty) }
    #expect(try parser.parse([UInt8](repeating: 0x20, count: 100_000)).isEmpty)
    #expect(try parser.parse(Array("<a/>".utf8)) == [.element(XMLElement("a", namespace: "jabber:client"))])
    #expect(Reading.everyWay(header + "\n<a/> \n <a/>\r\n").elements.count == 2)
  }

  @Test(
    "The parser counts the bytes after the last event.",
    arguments: [
      ("", "", 0), ("<", "", 1), (header, "", 0), (header, " ", 1), (header, "<", 1), (header, "<a", 2),
      (header + "<proceed xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>", "", 0),
      (header + "<proceed xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>", "\n", 1),
      (header + "<proceed xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>", "<succ", 5),
      (header + "<a >ü&amp;😀</a >", " \r", 2), (header + "<a></a>", "\r\n\r", 3),
      (
        header + "<a b='>'>" + String(repeating: "ü", count: 5000) + "</a>",
        String(repeating: " ", count: 400), 400
      ),
      ("<s >", "  ", 2),
    ])
  func bytesAfter(_ complete: String, _ rest: String, _ count: Int) {
    if complete.utf8.count < 2000 {
      #expect(Reading.everyWay(complete + rest).bytesAfterLastEvent == count)
    }
    #expect(Reading([Array((complete + rest).utf8)[...]]).bytesAfterLastEvent == count)
  }

  @Test("The parser counts the bytes after an event while that event is handled, including unread ones.")
  func bytesAfterWhileHandled() throws {
    let parser = XMLStreamParser()
    let rest = "<b/>" + String(repeating: "<c/>", count: 10_000)
    var counts: [Int] = []
    try Array((header + "<a/>" + rest).utf8).withUnsafeBytes { bytes in
      try parser.parse(bytes) { _ in counts.append(parser.bytesAfterLastEvent) }
    }
    #expect(counts.prefix(3) == [rest.utf8.count + 4, rest.utf8.count, rest.utf8.count - 4])
    #expect(counts.last == 0)
  }

  @Test("A root without content opens the stream and closes it.")
  func emptyRoot() {
    let root = XMLElement(name: XMLName("s"), attributes: [XMLAttribute(XMLName("a"), "b")])
    #expect(Reading.everyWay("<s a='b'/>").events == [.opened(root), .closed])
    #expect(Reading.everyWay(" \n<s a='b'></s>").events == [.opened(root), .closed])
  }

  @Test("The parser reads nothing after the end of the stream.")
  func closed() throws {
    let parser = XMLStreamParser()
    let events = try parser.parse(Array("<s></s><!-- not looked at --> &".utf8))
    #expect(events == [.opened(XMLElement(name: XMLName("s"))), .closed])
    #expect(throws: XMLStreamError(.finished, "the parser has ended")) { try parser.parse([0x20]) }
  }

  @Test("The parser reads nothing after an error, and the events before the error have been delivered.")
  func afterError() {
    let parser = XMLStreamParser()
    var events: [XMLStreamParser.Event] = []
    #expect(throws: XMLStreamError.self) {
      try Array("<s><a/><b></c><d/>".utf8).withUnsafeBytes { try parser.parse($0) { events.append($0) } }
    }
    #expect(events.count == 2)
    let error = #expect(throws: XMLStreamError.self) { try parser.parse(Array("<e/>".utf8)) }
    #expect(error?.code == .finished)
  }

  @Test("An error that a handler throws is passed on and ends the parser.")
  func handlerThrows() {
    struct Refusal: Error {}
    let parser = XMLStreamParser()
    var events = 0
    #expect(throws: Refusal.self) {
      try Array("<s><a/><b/><c/>".utf8).withUnsafeBytes {
        try parser.parse($0) { event in
          events += 1
          if events == 2 { throw Refusal() }
        }
      }
    }
    #expect(events == 2)
    let error = #expect(throws: XMLStreamError.self) { try parser.parse(Array("<e/>".utf8)) }
    #expect(error?.code == .finished)
  }

  @Test("A handler cannot call the parser that is calling it.")
  func reentrance() throws {
    let parser = XMLStreamParser()
    try Array("<s><a/>".utf8).withUnsafeBytes {
      try parser.parse($0) { _ in
        let error = #expect(throws: XMLStreamError.self) { try parser.parse(Array("<b/>".utf8)) }
        #expect(error?.code == .finished)
      }
    }
    #expect(try parser.parse(Array("<c/>".utf8)).count == 1)
  }

  @Test("A parser that rests at any place, even inside an element or a handler, continues to read correctly.")
  func rest() throws {
    let child = "<a xmlns='u:a' p:b='a value that needs memory'><c/>text</a>"
    let text = "<?xml version='1.0'?>\n<s xmlns='u:s' xmlns:p='u:p'>\(child)\(child) \(child)</s>"
    for step in 1...text.utf8.count {
      let parser = XMLStreamParser()
      var events: [XMLStreamParser.Event] = []
      var rest = Array(text.utf8)[...]
      while !rest.isEmpty {
        try Array(rest.prefix(step)).withUnsafeBytes {
          try parser.parse($0) {
            events.append($0)
            parser.rest()
          }
        }
        rest = rest.dropFirst(step)
        parser.rest()
      }
      #expect(try events == XMLStreamParser().parse(Array(text.utf8)), "\(step) bytes at a time")
    }
  }

  @Test("A parser that has rested counts bytes and applies its limits as before.")
  func restedLimits() throws {
    let limits = XMLStreamParser.Limits(maximumElementBytes: 1000, maximumDepth: 3)
    let parser = XMLStreamParser(limits: limits)
    _ = try parser.parse(Array("<s><a/>".utf8))
    for spaces in [0, 1, 1] {
      parser.rest()
      #expect(parser.bytesAfterLastEvent == spaces)
      _ = try parser.parse(Array("<a><b>\(String(repeating: "x", count: 900))</b></a> ".utf8))
      #expect(parser.bytesAfterLastEvent == 1)
    }
    parser.rest()
    let deep = #expect(throws: XMLStreamError.self) { try parser.parse(Array("<a><b><c/></b></a>".utf8)) }
    #expect(deep?.code == .limitExceeded)
    parser.rest()
    let finished = #expect(throws: XMLStreamError.self) { try parser.parse(Array("<a/>".utf8)) }
    #expect(finished?.code == .finished)

    let other = XMLStreamParser(limits: limits)
    _ = try other.parse(Array("<s><a/>".utf8))
    other.rest()
    let long = #expect(throws: XMLStreamError.self) {
      try other.parse(Array("<a>\(String(repeating: "x", count: 1000))</a>".utf8))
    }
    #expect(long?.code == .limitExceeded)
  }

  @Test("A parser with a header of more than a kilobyte does not rest and continues to read.")
  func longHeader() throws {
    for count in [900, 1100, 20_000] {
      let parser = XMLStreamParser()
      _ = try parser.parse(Array("<s a='\(String(repeating: "x", count: count))'>".utf8))
      for _ in 0..<2 {
        parser.rest()
        #expect(try parser.parse(Array("<a/>".utf8)) == [.element(XMLElement("a", namespace: ""))])
      }
    }
  }

  @Test("More names and values than the caches can hold are read correctly.")
  func manyNames() throws {
    let parser = XMLStreamParser()
    _ = try parser.parse(Array("<s>".utf8))
    for round in 0..<3 {
      for number in 0..<3000 {
        let value = "a value that needs memory \(number * 7 + round)"
        let events = try parser.parse(
          Array("<n\(number) xmlns='u:\(number % 500)' a\(number % 9)='\(value)'/>".utf8))
        let element = XMLElement(
          name: XMLName("n\(number)", "u:\(number % 500)"),
          attributes: [XMLAttribute(XMLName("a\(number % 9)"), value)])
        #expect(events == [.element(element)])
      }
    }
  }
}
