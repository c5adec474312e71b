import AgentProtocol
import TestSupport
import Testing
import XMPP
import XMPPXML

@testable import AgentLogin

@Suite("The offer of a server")
struct ServerOfferTests {
  private func offer(_ features: String) throws -> ServerMechanismsMethod.Result {
    let features = StreamFeatures(try element("<stream:features>\(features)</stream:features>"))
    return ServerMechanismsMethod.Result("im.example", features)
  }

  @Test("The offer of a server lists its mechanisms, channel bindings, token mechanisms and registration.")
  func everything() throws {
    let offer = try offer(
      """
      <mechanisms xmlns='urn:ietf:params:xml:ns:xmpp-sasl'><mechanism>PLAIN</mechanism></mechanisms>
      <sasl-channel-binding xmlns='urn:xmpp:sasl-cb:0'><channel-binding type='tls-exporter'/>
      </sasl-channel-binding>
      <authentication xmlns='urn:xmpp:sasl:2'><mechanism>SCRAM-SHA-1-PLUS</mechanism>
      <inline><bind xmlns='urn:xmpp:bind:0'/><fast xmlns='urn:xmpp:fast:0'>
      <mechanism>HT-SHA-256-EXPR</mechanism></fast></inline></authentication>
      <register xmlns='http://jabber.org/features/iq-register'/>
      """)
    #expect(offer.sasl == ["PLAIN"])
    #expect(offer.sasl2 == ["SCRAM-SHA-1-PLUS"])
    #expect(offer.channelBindings == ["tls-exporter"])
    #expect(offer.fast == ["HT-SHA-256-EXPR"])
    #expect(offer.bind2)
    #expect(offer.registration)
  }

  @Test("The offer of a server may be empty, and an invalid mechanism name is not shown.")
  func nothing() throws {
    let none = try offer("")
    #expect(none.sasl.isEmpty && none.sasl2 == nil && none.channelBindings == nil && none.fast.isEmpty)
    #expect(!none.bind2 && !none.registration)
    let odd = try offer(
      "<mechanisms xmlns='urn:ietf:params:xml:ns:xmpp-sasl'><mechanism>a\u{9b}b</mechanism></mechanisms>")
    #expect(odd.sasl == ["?"])
  }
}
