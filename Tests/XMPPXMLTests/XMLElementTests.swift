import Testing
import XMPPXML

@Suite struct XMLElementTests {
  @Test("Children of any kind can be changed in place.")
  func children() {
    var element = XMLElement("a", namespace: "u", text: "one")
    #expect(element.children == [.text("one")])
    element.children.append(.element(XMLElement("b", namespace: "u", text: "two")))
    element.children.append(.text("three"))
    #expect(element.children.count == 3)
    #expect(element.text == "onethree")
    #expect(element.elements.map(\.name.local) == ["b"])
    #expect(element.first("b")?.text == "two")
    #expect(element.first("b", "v") == nil)
    element.children.removeAll { if case .element = $0 { true } else { false } }
    #expect(element.elements.isEmpty)
    element.children = []
    #expect(element == XMLElement("a", namespace: "u"))
    #expect(element.text == "")
  }

  @Test("The footprint of an element grows with each of its texts, attributes and children.")
  func footprint() {
    let empty = XMLElement("a", namespace: "u").footprint
    #expect(empty > 0)
    #expect(XMLElement("a", namespace: "u", text: "12345").footprint == empty + 5)
    let attribute = XMLElement("a", namespace: "u", attributes: ["b": "12345"]).footprint
    #expect(attribute >= empty + 5)
    let children = (0..<100).map { _ in XMLElement("a", namespace: "u", attributes: ["b": "12345"]) }
    #expect(XMLElement("a", namespace: "u", children: children).footprint == empty + 100 * attribute)
    let mixed = XMLElement(name: XMLName("a", "u"), children: [.text("12345"), .element(children[0])])
    #expect(mixed.footprint >= empty + 5 + attribute)
  }

  @Test("Elements with the same content are equal, however they were created.")
  func equality() {
    var grown = XMLElement(name: XMLName("a", "u"))
    grown.children.append(.text("x"))
    let made = XMLElement("a", namespace: "u", text: "x")
    #expect(grown == made)
    #expect(Set([grown, made, XMLElement(name: XMLName("a", "u"), children: [.text("x")])]).count == 1)
    #expect(made != XMLElement("a", namespace: "u", text: "y"))
    #expect(made != XMLElement("a", namespace: "u"))
  }

  @Test("Attributes are read, set and removed by name.")
  func attributes() {
    var element = XMLElement("a", namespace: "u", attributes: ["b": "1", "c": nil])
    #expect(element.attributes == [XMLAttribute(XMLName("b"), "1")])
    element["b"] = "2"
    element["d"] = "3"
    element[XMLName("b", "v")] = "4"
    #expect(element["b"] == "2")
    #expect(element[XMLName("b", "v")] == "4")
    element["b"] = nil
    element["e"] = nil
    #expect(element.attributes.map(\.value) == ["3", "4"])
    #expect(element["b"] == nil)
  }
}
