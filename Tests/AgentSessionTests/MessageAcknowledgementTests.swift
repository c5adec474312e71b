import AgentProtocol
import GRDB
import TestSupport
import Testing
import XMPPFeatures
import XMPPStanza
import XMPPXML

@testable import AgentSession
@testable import AgentStore

@Suite("The acknowledgement of sent messages", .timeLimit(.minutes(4))) struct MessageAcknowledgementTests {
  private let desk: MessageDesk

  init() throws { desk = try MessageDesk() }

  @Test("An acknowledged message is published, followed by the receipt of the server.")
  func server() async throws {
    try await desk.send("1", isAcknowledged: false)
    let outcome = try await desk.take([.acknowledged("1")])
    #expect(outcome.events.map(\.name) == ["message", "receipt"])
    #expect(desk.receipts(outcome.events) == [ReceiptEvent(id: "1", kind: .server, from: "im.example")])
    #expect(outcome.events[1].cursor == outcome.events[0].cursor + 1)
    #expect(try await desk.take([.acknowledged("1")]).events.isEmpty)
  }

  @Test(
    "Messages that are acknowledged together are published in the order of the outbox, and can be searched."
  )
  func together() async throws {
    let ids = (1...5).map(String.init)
    for id in ids { try await desk.send(id, isAcknowledged: false) }
    let outcome = try await desk.take([
      .acknowledged("4"), .acknowledged("2"), .streamChanged, .acknowledged("1"),
    ])
    #expect(Set(outcome.settled) == ["1", "2", "4"])
    #expect(outcome.events.map(\.name) == ["message", "receipt", "message", "receipt", "message", "receipt"])
    #expect(outcome.events.compactMap(\.message?.id) == ["1", "2", "4"])
    #expect(zip(outcome.events, outcome.events.dropFirst()).allSatisfy { $1.cursor == $0.cursor + 1 })
    #expect(try await desk.store.replay(after: 0, until: 1000, account: nil).events == outcome.events)
    let waiting = try await desk.store.change { try OutboxMessage.all(of: "alice@im.example", $0) }
    #expect(waiting.map(\.id) == ["3", "5"])
    #expect(try await desk.take([.acknowledged("1"), .acknowledged("2")]).events.isEmpty)
    let found = try await desk.store.read { database in
      try Row.fetchAll(
        database,
        sql: "SELECT id, place FROM messages WHERE place IN (SELECT rowid FROM search WHERE search MATCH 'x')"
      ).map { [$0["id"] as String, String($0["place"] as Int64)] }
    }
    #expect(found.map(\.[0]) == ["1", "2", "4"] && Set(found.map(\.[1])).count == 3)
  }

  @Test(
    "Outbox messages that the session holds in memory are settled in their order, each only once."
  )
  func kept() async throws {
    let ids = (1...5).map(String.init)
    for id in ids { try await desk.send(id, isAcknowledged: false) }
    let waiting = try await desk.store.change { try OutboxMessage.all(of: "alice@im.example", $0) }
    #expect(try await desk.take([.acknowledged("2")]).settled == ["2"])
    let outcome = try await desk.take(waiting.prefix(4).map { .sent([$0]) })
    #expect(outcome.settled == ["1", "2", "3", "4"])
    #expect(outcome.events.compactMap(\.message?.id) == ["1", "3", "4"])
    #expect(desk.receipts(outcome.events).map(\.id) == ["1", "3", "4"])
    #expect(try await desk.store.replay(after: 2, until: 1000, account: nil).events == outcome.events)
    #expect(try await desk.take([.sent([waiting[0]])]).events.isEmpty)
    let left = try await desk.store.change { try OutboxMessage.all(of: "alice@im.example", $0) }
    #expect(left.map(\.id) == ["5"])
  }

  @Test("A message that was retracted before its acknowledgement is stored without its text.")
  func takenBack() async throws {
    try await desk.send("0")
    for id in ["1", "2"] { try await desk.send(id, isAcknowledged: false) }
    try await desk.store.change { database in
      try database.execute(sql: "UPDATE messages SET retracts = '2' WHERE id = '0'")
    }
    let outcome = try await desk.take([.acknowledged("1"), .acknowledged("2")])
    #expect(outcome.settled == ["1", "2"])
    let bodies = try await desk.store.replay(after: 0, until: 1000, account: nil).events.compactMap(\.message)
      .filter { $0.id != "0" }.map(\.body)
    #expect(bodies == ["x", nil])
  }

  @Test("A carbon copy of a message that this device has sent is recognised without an origin-id.")
  func copyOfSent() async throws {
    try await desk.send("message-1", isAcknowledged: false)
    func copy(_ body: String = "x", id: String = "message-1") -> String {
      "<message from='alice@im.example'><sent xmlns='urn:xmpp:carbons:2'><forwarded xmlns='urn:xmpp:forward:0'>"
        + "<message xmlns='jabber:client' from='alice@im.example/phone' to='bob@im.example' id='\(id)' type='chat'>"
        + "<body>\(body)</body></message></forwarded></sent></message>"
    }
    #expect(try await desk.take(copy()).settled == ["message-1"])
    // A server may write it otherwise.
    #expect(try await desk.take(copy(), copy("x ")).events.isEmpty)
    // What another device has sent is not sent once more under its id.
    #expect(try await desk.take(copy("y", id: "message-2")).events.count == 1)
    let other = OutboxMessage(id: "message-2", to: try JID("bob@im.example"), body: "y", accepted: 6)
    let own = "alice@im.example"
    #expect(try await desk.store.change { try other.accept(own, own: own, $0) } == .sent(nil))
    let ids = ["message-0", "message-3"]
    #expect(
      try await desk.store.change { try OutboxMessage.mayBeKnown(ids, of: own, own: own, $0) })
  }
}
