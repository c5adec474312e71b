import TestSupport
import Testing
import XMPPStanza
import XMPPXML

@testable import XMPP

@Suite struct StanzaRouterTests {
  private func route(_ xml: String) throws -> Route {
    StanzaRouter.route(try element(xml))
  }

  @Test("Each kind of stanza is routed to its own handler.")
  func kinds() throws {
    guard case .message = try route("<message from='a@b'><body>x</body></message>") else { return fail() }
    guard case .presence = try route("<presence from='a@b'/>") else { return fail() }
    guard case .request = try route("<iq type='get' id='1' from='a@b'><q xmlns='x'/></iq>") else {
      return fail()
    }
    guard case .answer = try route("<iq type='result' id='1'/>") else { return fail() }
    guard
      case .streamError(let error) = try route(
        "<stream:error><conflict xmlns='urn:ietf:params:xml:ns:xmpp-streams'/></stream:error>")
    else { return fail() }
    #expect(error.condition == .conflict)
  }

  @Test(
    "An element that is not a stanza in the namespace of the stream is ignored.",
    arguments: [
      "<message xmlns='jabber:server' from='a@b'/>", "<x xmlns='y'/>", "<foo/>",
      "<message from='@@'/>", "<presence from='a@b@c'/>", "<iq type='result' id='1' from='@'/>",
    ])
  func ignored(_ xml: String) throws {
    #expect(try route(xml) == .ignored)
  }

  @Test("An invalid request is answered with bad-request if its sender has a valid address.")
  func refused() throws {
    guard case .refused(let answer) = try route("<iq type='get' id='1' from='a@b' to='@@'/>") else {
      return fail()
    }
    #expect(answer["to"] == "a@b")
    #expect(answer["type"] == "error")
    #expect(try route("<iq type='get' id='1' from='@'/>") == .ignored)
    #expect(try route("<iq type='get' from='a@b'/>") == .ignored)
  }

  @Test(
    "A request with no payload, or with several, is answered with bad-request.",
    arguments: ["", "text", "<q xmlns='x'/><q xmlns='x'/>", "<q xmlns='x'/><error type='cancel'/>"])
  func notOneChild(_ payload: String) throws {
    for type in ["get", "set"] {
      guard case .refused(let answer) = try route("<iq type='\(type)' id='1' from='a@b'>\(payload)</iq>")
      else { return fail() }
      let iq = try #require(IQ(answer))
      #expect(iq.id == "1")
      #expect(iq.to?.description == "a@b")
      #expect(iq.error?.condition == .badRequest)
      // The server itself may ask without an address.
      guard case .refused = try route("<iq type='\(type)' id='1'>\(payload)</iq>") else { return fail() }
    }
  }

  @Test("A request without a handler is answered with service-unavailable and its id.")
  func refusal() throws {
    let request = IQ(type: .get, from: try JID("a@b/c"), id: "7")
    let answer = StanzaRouter.refusal(of: request)
    #expect(answer.id == "7")
    #expect(answer.to == request.from)
    #expect(answer.error?.condition == .serviceUnavailable)
  }

  private func fail() { Issue.record("routed elsewhere") }
}
