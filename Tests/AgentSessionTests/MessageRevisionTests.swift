import AgentProtocol
import GRDB
import TestSupport
import Testing
import XMPPFeatures
import XMPPStanza
import XMPPXML

@testable import AgentSession
@testable import AgentStore

@Suite("Corrections and retractions of messages", .timeLimit(.minutes(4))) struct MessageRevisionTests {
  private let desk: MessageDesk

  init() throws { desk = try MessageDesk() }

  @Test(
    "A correction names the first version of a message, and corrects only messages to the same recipient."
  )
  func ownCorrections() async throws {
    try await desk.send("1")
    try await desk.send("2", isAcknowledged: false)
    func correct(_ id: String, _ target: OutgoingMessage.Correction, to: String = "bob@im.example")
      async throws
      -> String?
    {
      let message = OutboxMessage(id: id, to: try JID(to), body: "y", accepted: 6)
      return try await desk.store.change { database in
        let correction = try message.correcting(
          target, "alice@im.example", own: "alice@im.example", database)
        _ = try correction.insert("alice@im.example", database)
        return try OutboxMessage.find(id, of: "alice@im.example", database)?.replaces
      }
    }
    #expect(try await correct("3", .message("1")) == "1")
    #expect(try await correct("4", .last) == "2")
    #expect(try await correct("5", .message("4")) == "2")
    _ = try await desk.take([.acknowledged("2"), .acknowledged("3"), .acknowledged("4"), .acknowledged("5")])
    #expect(try await correct("6", .last) == "2")
    #expect(try await correct("7", .message("3")) == "1")
    await #expect(throws: Failure.self) { try await correct("8", .message("nothing")) }
    await #expect(throws: Failure.self) { try await correct("9", .message("1"), to: "eve@im.example") }
    await #expect(throws: Failure.self) { try await correct("10", .last, to: "eve@im.example") }
    let waiting = try await desk.store.change { try OutboxMessage.find("7", of: "alice@im.example", $0) }
    let element = try #require(waiting?.element(isAgain: false, own: desk.own))
    #expect(Message(element).flatMap { Correction.replaced(by: $0) } == "1")
  }

  @Test(
    "A correction or a retraction takes effect only where its sender has sent the original message."
  )
  func corrections() async throws {
    func correction(_ from: String, _ id: String) -> String {
      "<message from='\(from)' id='c-\(from)'><body>new</body><replace xmlns='urn:xmpp:message-correct:0' "
        + "id='\(id)'/></message>"
    }
    func retraction(_ from: String, _ id: String) -> String {
      "<message from='\(from)'><body>taken back</body><retract xmlns='urn:xmpp:message-retract:1' id='\(id)'/>"
        + "</message>"
    }
    try await desk.take(
      "<message from='bob@im.example/x' id='b1'><body>old</body></message>",
      "<message from='bob@im.example/x' id='b2'><origin-id xmlns='urn:xmpp:sid:0' id='o2'/><body>old</body></message>"
    )
    let forged = try await desk.take(
      correction("mallory@evil.example/x", "b1"), retraction("mallory@evil.example/x", "b1"),
      retraction("bob@im.example/x", "unknown"))
    #expect(forged.events.compactMap(\.message).map(\.body) == ["new"])
    #expect(forged.events.first?.message?.replaces == nil)
    let real = try await desk.take(
      correction("bob@im.example/other", "b1"), retraction("bob@im.example", "o2"),
      retraction("bob@im.example", "b2"))
    let messages = real.events.compactMap(\.message)
    #expect(messages.map(\.replaces) == ["b1", nil, nil])
    #expect(messages.map(\.retracts) == [nil, "o2", "b2"])
    #expect(messages.map(\.body) == ["new", nil, nil])
    let replayed = try await desk.store.replay(after: 2, until: 1000, account: nil).events.compactMap(
      \.message)
    #expect(replayed.map(\.retracts) == [nil, nil, "o2", "b2"])
    // What was not known may come out of the past.
    let past = ["bob@im.example", "mallory@evil.example"].map { sender in
      StoredMessage(direction: .received, sender: sender, time: 1, id: "unknown", body: "past of \(sender)")
    }
    let bodies = try await desk.store.change { database in
      _ = try StoredMessage.insertPast(past, desk.own.bare.description, database)
      return try String.fetchAll(database, sql: "SELECT body FROM messages WHERE body LIKE 'past%'")
    }
    #expect(bodies == ["past of mallory@evil.example"])
  }

  @Test("A message that arrives after its own retraction is published and stored without its text.")
  func lateOriginal() async throws {
    let bob = "<message from='bob@im.example/x'"
    try await desk.take("\(bob)><retract xmlns='urn:xmpp:message-retract:1' id='b1'/></message>")
    let late = try await desk.take(
      "\(bob) id='b1'><body>secret</body></message>", "\(bob) id='b2'><body>open</body></message>")
    let messages = late.events.compactMap(\.message)
    #expect(messages.map(\.id) == ["b1", "b2"] && messages.map(\.body) == [nil, "open"])
    #expect(messages.map(\.retracted) == [true, nil])
    #expect(try await desk.store.replay(after: 0, until: 1000, account: nil).events == late.events)
  }
}
