import Testing
import XMPPStanza

@testable import AgentSession
@testable import AgentStore

@Suite struct OutboxSettlementTests {
  private let messages: [OutboxMessage]

  init() throws {
    let to = try JID("b@c")
    messages = (1...5).map { number in
      OutboxMessage(position: Int64(number), id: "\(number)", to: to, body: "x", accepted: 0, isSent: true)
    }
  }

  @Test(
    "Counted messages are settled, missing ones are sent again, and the rest is looked up in the archive."
  )
  func counted() {
    let known = OutboxSettlement(acknowledged: ["1", "2"], missing: ["3"])
    #expect(known.doubtful(messages).map(\.id) == ["4", "5"])
    // The archive has 4.
    let again = known.toSendAgain(messages.filter { $0.id != "4" })
    #expect(again.map(\.id) == ["3", "5"])
    #expect(again.map(\.isAgain) == [true, true])
  }

  @Test(
    "A message that a resumed session has not counted is looked up in the archive before it is sent again.")
  func resumed() {
    let known = OutboxSettlement(acknowledged: ["1"], missing: ["4"], uncounted: ["2", "3"])
    #expect(known.doubtful(messages).map(\.id) == ["2", "3", "5"])
    #expect(known.toSendAgain(messages.filter { $0.id != "2" }).map(\.id) == ["3", "4", "5"])
  }

  @Test(
    "A message with a unique id has an origin-id only if it is sent again, directly or to a room."
  )
  func originID() {
    var message = messages[0]
    message.id = "a-long-id"
    func names(_ message: OutboxMessage, isAgain: Bool = false) -> Bool {
      message.element(isAgain: isAgain, own: message.to).first("origin-id", "urn:xmpp:sid:0")?["id"]
        == message.id
    }
    #expect(!names(message) && names(message, isAgain: true))
    let direct = message.element(isAgain: false, isKnown: false, own: message.to)
    #expect(direct.first("origin-id", "urn:xmpp:sid:0")?["id"] == message.id)
    message.type = .groupchat
    #expect(names(message))
  }

  @Test(
    "A message that is sent again keeps its id, and carries its origin-id and the time of its acceptance.")
  func again() {
    let first = messages[0].element(isAgain: false, own: messages[0].to)
    let again = messages[0].element(isAgain: true, own: messages[0].to)
    #expect(first["id"] == "1" && again["id"] == "1")
    #expect(again.first("origin-id", "urn:xmpp:sid:0")?["id"] == "1")
    // Another client of the account may count its messages: what may be one of those names it at once.
    #expect(first.first("origin-id", "urn:xmpp:sid:0")?["id"] == "1")
    #expect(first.first("delay", "urn:xmpp:delay") == nil)
    #expect(again.first("delay", "urn:xmpp:delay")?["stamp"] == "1970-01-01T00:00:00.000Z")
  }
}
