import Testing
import XMPPStanza
import XMPPXML

@testable import XMPP

@Suite("What was handled of the server's stanzas")
struct StreamManagementTests {
  private static let enabled = XMLElement(
    "bound", namespace: Namespaces.bind2,
    children: [XMLElement("enabled", namespace: Namespaces.streamManagement)])
  private static let request = XMLElement("r", namespace: Namespaces.streamManagement)

  @Test("is counted where the server has switched it on, and nowhere else.")
  func enabled() {
    #expect(StreamManagement(inline: nil) == nil)
    #expect(StreamManagement(inline: XMLElement("bound", namespace: Namespaces.bind2)) == nil)
    #expect(StreamManagement(inline: Self.enabled) != nil)
  }

  @Test("is told when the server asks: stanzas alone count.")
  func acknowledgement() throws {
    var management = try #require(StreamManagement(inline: Self.enabled))
    for name in ["message", "presence", "iq"] {
      #expect(management.received(XMLElement(name, namespace: Namespaces.client)) == nil)
    }
    #expect(management.received(XMLElement("features", namespace: Namespaces.streams)) == nil)
    #expect(management.received(XMLElement("message", namespace: "x")) == nil)
    #expect(management.received(Self.request)?["h"] == "3")
    #expect(management.received(Self.request)?["h"] == "3")
  }

  @Test("goes on with 0 behind 2^32 - 1.")
  func wraps() throws {
    var management = try #require(StreamManagement(inline: Self.enabled, handled: .max))
    _ = management.received(XMLElement("message", namespace: Namespaces.client))
    #expect(management.acknowledgement["h"] == "0")
  }
}
