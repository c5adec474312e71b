import TestSupport
import Testing
import XMPP
import XMPPSASL
import XMPPStanza
import XMPPXML

@testable import XMPPFeatures

@Suite struct PingTests {
  @Test("A ping is answered to its sender if it is a request of type get, and ignored otherwise.")
  func responder() throws {
    let (name, respond) = Ping.responder
    let ping = IQ(
      type: .get, from: try JID("bob@im.example/x"), id: "1",
      payload: [XMLElement(name.local, namespace: name.namespace)])
    let pong = try #require(respond(ping))
    #expect(pong.type == .result)
    #expect(pong.id == "1")
    #expect(pong.to == ping.from)
    #expect(pong.payload.isEmpty)
    #expect(respond(IQ(type: .set, id: "1", payload: ping.payload)) == nil)
  }

  @Test("A client and a real server answer each other's pings.", arguments: TestServer.Kind.allCases)
  func realServer(kind: TestServer.Kind) async throws {
    let server = try await TestServer.shared(kind)
    func client(_ name: String) async throws -> (XMPPStream, JID) {
      var configuration = try StreamConfiguration(name, on: server)
      configuration.responders = Dictionary([Ping.responder]) { first, _ in first }
      let stream = XMPPStream(configuration)
      return (stream, try await stream.connect().jid)
    }
    let (alice, _) = try await client("alice")
    let (carol, carolJID) = try await client("carol")
    try await Ping.send(on: alice)
    let ping = IQ(type: .get, to: carolJID, payload: [XMLElement("ping", namespace: "urn:xmpp:ping")])
    let pong = try await alice.request(ping)
    #expect(pong.type == .result)
    #expect(pong.from == carolJID)
    let other = IQ(type: .get, to: carolJID, payload: [XMLElement("query", namespace: "jabber:iq:version")])
    #expect(try await alice.request(other).error?.condition == .serviceUnavailable)
    await alice.close()
    await carol.close()
  }
}
