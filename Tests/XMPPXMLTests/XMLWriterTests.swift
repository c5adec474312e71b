import Testing
import XMPPXML

@Suite struct XMLWriterTests {
  @Test("The writer does not declare a namespace again that is already in scope.")
  func namespaces() {
    let message = XMLElement(
      "message", namespace: "jabber:client", attributes: ["to": "a@b", "id": nil],
      children: [
        XMLElement("body", namespace: "jabber:client", text: "hi"),
        XMLElement(
          "x", namespace: "u:x",
          children: [
            XMLElement("y", namespace: "u:x"), XMLElement("z", namespace: ""),
            XMLElement("w", namespace: "jabber:client"),
          ]),
      ])
    let inner = "<body>hi</body><x xmlns='u:x'><y/><z xmlns=''/><w xmlns='jabber:client'/></x></message>"
    #expect(message.xmlString(inheriting: "jabber:client") == "<message to='a@b'>" + inner)
    #expect(message.xmlString() == "<message xmlns='jabber:client' to='a@b'>" + inner)
    var bytes = Array("<".utf8)
    message.write(into: &bytes, inheriting: "jabber:client")
    #expect(String(decoding: bytes, as: UTF8.self) == "<<message to='a@b'>" + inner)
  }

  @Test("The writer declares a prefix for each attribute namespace, and uses xml for that of XML.")
  func prefixes() {
    let xml = "http://www.w3.org/XML/1998/namespace"
    let element = XMLElement(
      name: XMLName("a"),
      attributes: [
        XMLAttribute(XMLName("lang", xml), "en"), XMLAttribute(XMLName("b", "u:1"), "1"),
        XMLAttribute(XMLName("b", "u:2"), "2"),
        XMLAttribute(XMLName("c", "u:1"), "3"), XMLAttribute(XMLName("b"), "4"),
      ], children: [.element(XMLElement(name: XMLName("d", xml)))])
    #expect(
      element.xmlString()
        == "<a xml:lang='en' xmlns:n0='u:1' n0:b='1' xmlns:n1='u:2' n1:b='2' n0:c='3' b='4'><xml:d/></a>")
    #expect(element.language == "en")
  }

  @Test(
    "The writer escapes markup and all characters that a parser would change.",
    arguments: [
      ("a&b<c>d", "a&amp;b&lt;c&gt;d", "a&amp;b&lt;c&gt;d"), ("]]>", "]]&gt;", "]]&gt;"),
      ("\"'", "\"'", "&quot;&apos;"),
      ("\r\n\t", "&#13;\n\t", "&#13;&#10;&#9;"), ("über 了解 😀", "über 了解 😀", "über 了解 😀"), ("", "", ""),
      (
        "\u{0}a\u{1}\u{8}\u{B}\u{1F}", "\u{FFFD}a\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}",
        "\u{FFFD}a\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}"
      ),
      (
        "\u{FFFE}\u{FFFF}\u{FFFD}\u{FFFC}", "\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFC}",
        "\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFC}"
      ),
      (
        "\u{7F}\u{85}\u{1FFFE}\u{10FFFF}", "\u{7F}\u{85}\u{1FFFE}\u{10FFFF}",
        "\u{7F}\u{85}\u{1FFFE}\u{10FFFF}"
      ),
    ])
  func escaped(_ text: String, _ asText: String, _ asValue: String) {
    #expect(XMLWriter.escaped(text: text) == asText)
    #expect(XMLWriter.escaped(attributeValue: text) == asValue)
  }

  @Test("A name that contains markup is written without it.")
  func names() {
    let element = XMLElement("a b='1'><c", namespace: "u'><d", attributes: ["e='1' f": "g"])
    #expect(element.xmlString() == "<a_b__1___c xmlns='u&apos;&gt;&lt;d' e__1__f='g'/>")
  }

  @Test(
    "The writer writes the first of several attributes with one name, and no attribute that is a declaration."
  )
  func duplicates() {
    let element = XMLElement(
      name: XMLName("a"),
      attributes: [
        XMLAttribute(XMLName("b"), "1"), XMLAttribute(XMLName("b"), "2"),
        XMLAttribute(XMLName("c", "http://www.w3.org/2000/xmlns/"), "3"),
      ])
    #expect(element.xmlString() == "<a b='1'/>")
    #expect(element["b"] == "1")
  }

  @Test("Every Unicode scalar is read back as it was written, or as U+FFFD if XML forbids it.")
  func scalars() throws {
    var text = ""
    for value in UInt32(0)...0x10FFFF where value < 0x3000 || value % 61 == 0 || value & 0xFFFF > 0xFFF0 {
      if let scalar = Unicode.Scalar(value) { text.unicodeScalars.append(scalar) }
    }
    let element = XMLElement("a", namespace: "u", attributes: ["b": text], text: text)
    let parser = XMLStreamParser(limits: .init(maximumTokenBytes: 1 << 20))
    let read = try parser.parse(Array("<s>".utf8) + Array(element.xmlString().utf8))
    var expected = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      let isForbidden =
        scalar.value < 0x20 && !"\t\n\r".unicodeScalars.contains(scalar)
        || [0xFFFE, 0xFFFF].contains(scalar.value)
      expected.append(isForbidden ? "\u{FFFD}" : scalar)
    }
    let result = String(expected)
    #expect(read.count == 2)
    guard case .element(let copy) = read.last else { return }
    #expect(copy.text.unicodeScalars.elementsEqual(result.unicodeScalars))
    #expect(copy["b"]?.unicodeScalars.elementsEqual(result.unicodeScalars) == true)
  }

  @Test("Random elements are read back as they were written.", arguments: 0..<40)
  func randomTrees(_ seed: Int) throws {
    var trees = RandomTrees(seed: UInt64(seed))
    for _ in 0..<10 {
      let tree = trees.element(depth: 0)
      for scope in ["", "jabber:client"] {
        let xml = tree.xmlString(inheriting: scope)
        let parser = XMLStreamParser()
        let events = try parser.parse(Array("<s xmlns='\(scope)'>\(xml)".utf8))
        #expect(events.dropFirst() == [.element(tree)], "\(xml)")
        #expect(parser.bytesAfterLastEvent == 0)
      }
    }
    let small = trees.element(depth: 3)
    #expect(Reading.everyWay("<s>" + small.xmlString()).elements == [small])
  }
}

/// Trees that XML can carry: no empty or adjacent texts, no attribute twice.
struct RandomTrees {
  private var state: UInt64
  private let names = ["a", "body", "x-y", "é", "_", "A.1"]
  private let namespaces = [
    "", "jabber:client", "urn:xmpp:sid:0", "u'\"<&>", "http://www.w3.org/XML/1998/namespace", "ü",
  ]
  private let pieces = [
    "x", "hello ", "&", "<", ">", "]]>", "'", "\"", "\n", "\r", "\t", "ü", "了解", "😀", "e\u{301}", "&amp;",
    "<![CDATA[", "-->",
    "\u{85}", "a longer piece of text that needs memory of its own",
  ]

  init(seed: UInt64) { state = seed }

  /// SplitMix64.
  private mutating func number(below bound: Int) -> Int {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return Int((mixed ^ (mixed >> 31)) % UInt64(bound))
  }

  private mutating func text() -> String {
    (0...number(below: 6)).map { _ in pieces[number(below: pieces.count)] }.joined()
  }

  private mutating func name() -> XMLName {
    XMLName(names[number(below: names.count)], namespaces[number(below: namespaces.count)])
  }

  mutating func element(depth: Int) -> XMLElement {
    var element = XMLElement(name: name())
    for _ in 0..<number(below: 5) { element[name()] = number(below: 8) == 0 ? "" : text() }
    for _ in 0..<number(below: depth > 4 ? 1 : 5) {
      if number(below: 2) == 0 {
        element.children.append(.element(self.element(depth: depth + 1)))
      } else if case .text = element.children.last {
        continue
      } else {
        element.children.append(.text(text()))
      }
    }
    return element
  }
}
