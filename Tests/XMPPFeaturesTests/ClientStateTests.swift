import TestSupport
import Testing
import XMPP
import XMPPSASL
import XMPPStanza
import XMPPXML

@testable import XMPPFeatures

@Suite struct ClientStateTests {
  @Test("The elements for an active and an inactive client are those of XEP-0352 §4.2.")
  func elements() {
    #expect(ClientState.active.element == XMLElement("active", namespace: "urn:xmpp:csi:0"))
    #expect(ClientState.inactive.element == XMLElement("inactive", namespace: "urn:xmpp:csi:0"))
  }

  @Test("Client state indication is recognised by its own feature only.")
  func offer() {
    func features(_ child: XMLElement?) -> StreamFeatures {
      StreamFeatures(
        XMLElement("features", namespace: Namespaces.streams, children: child.map { [$0] } ?? []))
    }
    #expect(ClientState.isOffered(by: features(XMLElement("csi", namespace: "urn:xmpp:csi:0"))))
    #expect(!ClientState.isOffered(by: features(XMLElement("csi", namespace: "urn:xmpp:csi:1"))))
    #expect(!ClientState.isOffered(by: features(nil)))
  }

  @Test(
    "Real servers offer client state indication after either way of binding a resource.",
    arguments: TestServer.Kind.allCases)
  func realServer(kind: TestServer.Kind) async throws {
    let server = try await TestServer.shared(kind)
    let stream = XMPPStream(try StreamConfiguration("alice", on: server))
    _ = try await stream.connect()
    // The features may follow an inline bind; the answer is behind them.
    try await Ping.send(on: stream)
    let features = try #require(await stream.features)
    #expect(ClientState.isOffered(by: features))
    try await stream.send([ClientState.inactive.element])
    try await Ping.send(on: stream)
    try await stream.send([ClientState.active.element])
    try await Ping.send(on: stream)
    await stream.close()
  }
}
