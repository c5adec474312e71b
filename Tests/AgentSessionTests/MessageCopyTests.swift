import AgentProtocol
import GRDB
import TestSupport
import Testing
import XMPPFeatures
import XMPPStanza
import XMPPXML

@testable import AgentSession
@testable import AgentStore

@Suite("Copies of one message", .timeLimit(.minutes(4))) struct MessageCopyTests {
  private let desk: MessageDesk

  init() throws { desk = try MessageDesk() }

  @Test(
    "A message to the account's own device is published once, as received, in whatever order its copies come.",
    arguments: ["id='message-1'", "id='1'", ""], [[0, 1, 2], [1, 2, 0], [2, 1, 0]])
  func toOneself(id: String, order: [Int]) async throws {
    func message(_ namespace: String = "") -> String {
      "<message \(namespace)from='alice@im.example/phone' to='alice@im.example/desk' \(id) type='chat'>"
        + "<body>note</body></message>"
    }
    func carbon(_ kind: String) -> String {
      "<message from='alice@im.example' to='alice@im.example/desk'><\(kind) xmlns='urn:xmpp:carbons:2'><forwarded "
        + "xmlns='urn:xmpp:forward:0'>\(message("xmlns='jabber:client' "))</forwarded></\(kind)></message>"
    }
    // A server may leave out the account's own address.
    let sent = carbon("sent").replacing("phone' to='alice@im.example/desk'", with: "phone'")
    let copies = [message(), sent, carbon("received")]
    for count in 1...2 {
      var events: [Event] = []
      for index in order { events += try await desk.take(copies[index]).events }
      // The second time it is another message.
      #expect(events.compactMap(\.message).map(\.direction) == [.in], "\(count)")
    }
  }

  @Test("Copies of a message to oneself with the same origin-id are one message, however often they come.")
  func toOneselfAgain() async throws {
    let message =
      "<message from='alice@im.example/phone' to='alice@im.example/desk' id='message-1' type='chat'>"
      + "<body>note</body><origin-id xmlns='urn:xmpp:sid:0' id='message-1'/></message>"
    #expect(try await desk.take(message, message).events.count == 1)
    #expect(try await desk.take(message).events.isEmpty)
  }

  @Test(
    "Equal messages to oneself are reported as often as they were sent, even if the archive holds each twice."
  )
  func alikeToOneself() async throws {
    func message(_ archiveID: String, _ namespace: String = "") -> String {
      "<message \(namespace)from='alice@im.example/phone' to='alice@im.example' id='1' type='chat'><body>a</body>"
        + "<stanza-id xmlns='urn:xmpp:sid:0' by='alice@im.example' id='\(archiveID)'/></message>"
    }
    func carbon(_ archiveID: String) -> String {
      "<message from='alice@im.example' to='alice@im.example/desk'><sent xmlns='urn:xmpp:carbons:2'><forwarded "
        + "xmlns='urn:xmpp:forward:0'>\(message(archiveID, "xmlns='jabber:client' "))</forwarded></sent></message>"
    }
    func archived(_ ids: [String]) async throws -> Int {
      try await desk.read(ids.map { ($0, message($0, "xmlns='jabber:client' ")) }).events.count
    }
    let live = [carbon("a1"), message("a2"), carbon("b1"), message("b2")]
    #expect(
      try await desk.take(
        live.map { .arrived(try TestSupport.message($0)) } + [.handled(1)], archiveIDs: .confirmed
      )
      .events
      .count
        == 2)
    // What came live is known there by both of its ids; one was missed.
    #expect(try await archived(["a1", "a2", "b1", "b2", "c1", "c2"]) == 1)
    #expect(try await archived(["a1", "a2", "b1", "b2", "c1", "c2", "d1", "d2", "e1", "e2"]) == 2)
  }

  @Test(
    "Different messages that carry the same id of an unconfirmed archive are all stored."
  )
  func claimedTwice() async throws {
    func message(_ body: String, from: String = "eve@x.example/x") -> String {
      "<message from='\(from)' id='1' type='chat'><body>\(body)</body>"
        + "<stanza-id xmlns='urn:xmpp:sid:0' by='alice@im.example' id='a1'/></message>"
    }
    let stanzas = [message("a"), message("b"), message("a"), message("a", from: "bob@im.example/x")]
    let outcome = try await desk.take(
      stanzas.map { .arrived(try TestSupport.message($0)) } + [.handled(1)], archiveIDs: .claimed)
    #expect(outcome.events.compactMap(\.message).map(\.body) == ["a", "b", "a"])
  }

  @Test(
    "Live messages without an archive id are recognised in the archive, each of several equal ones separately."
  )
  func withoutArchiveID() async throws {
    let message = "<message from='bob@im.example/x' id='1' type='chat'><body>a</body></message>"
    #expect(try await desk.take(message, message).events.count == 2)
    let inner = message.replacing("<message ", with: "<message xmlns='jabber:client' ")
    let outcome = try await desk.read(["a", "b", "c"].map { ($0, inner) })
    #expect(outcome.events.compactMap(\.message).map(\.stanzaId) == ["c"])
  }

  @Test(
    "Messages of a client that starts counting from 1 again are not mistaken for copies of earlier ones."
  )
  func counters() async throws {
    let first = "<message from='alice@im.example/phone' to='alice@im.example' id='1'><body>a</body></message>"
    let second = first.replacing("<body>a", with: "<body>b")
    #expect(try await desk.take(first, second, second).events.count == 3)
  }
}
