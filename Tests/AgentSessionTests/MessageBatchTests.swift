import AgentProtocol
import GRDB
import TestSupport
import Testing
import XMPPFeatures
import XMPPStanza
import XMPPXML

@testable import AgentSession
@testable import AgentStore

@Suite("What a batch of messages stores and publishes", .timeLimit(.minutes(4))) struct MessageBatchTests {
  private let desk: MessageDesk

  init() throws { desk = try MessageDesk() }

  @Test(
    "The last message of a stream is stored at its end only if the server does not count stanzas.",
    arguments: [true, false])
  func atTheEnd(isCounted: Bool) async throws {
    let message = "<message from='bob@im.example/x' type='chat'><body>hello</body></message>"
    let outcome = try await desk.take(
      [.arrived(try TestSupport.message(message)), .ended], isCounted: isCounted)
    #expect(outcome.events.count == (isCounted ? 0 : 1))
  }

  @Test("An archive page does not count as complete until its messages are stored.")
  func unread() throws {
    var reading: ArchiveReading? = .init(page: ArchivePage(.after(nil), maximum: 1), isKept: true)
    let page = try #require(reading?.page.id)
    let result = """
      <message to='alice@im.example/desk'><result xmlns='urn:xmpp:mam:2' queryid='\(page)' id='a1'>\
      <forwarded xmlns='urn:xmpp:forward:0'><message xmlns='jabber:client' from='bob@im.example/x' \
      type='chat'><body>hello</body></message></forwarded></result></message>
      """
    let fin = IQ(
      type: .result, id: "x",
      payload: [
        XMLElement(
          "fin", namespace: "urn:xmpp:mam:2", attributes: ["complete": "true"],
          children: [
            XMLElement(
              "set", namespace: "http://jabber.org/protocol/rsm",
              children: [
                XMLElement("first", namespace: "http://jabber.org/protocol/rsm", text: "a1"),
                XMLElement("last", namespace: "http://jabber.org/protocol/rsm", text: "a1"),
              ])
          ])
      ])
    let arrived = MessageItem.arrived(try TestSupport.message(result))
    func batch(_ reading: inout ArchiveReading?) -> MessageBatch {
      MessageBatch(
        [arrived], account: desk.own.bare, own: desk.own, archiveIDs: .confirmed, reading: &reading,
        now: 1_800_000_000)
    }
    // It fails to be stored, and meanwhile the page ends.
    var failed = reading
    #expect(batch(&failed).hasMessages)
    #expect(reading?.page.ended(with: fin) == true)
    #expect(reading?.page.isComplete == false)
    var stored = reading
    #expect(batch(&stored).hasMessages)
    if let stored { reading?.merge(stored) }
    #expect(reading?.page.isComplete == true)
  }

  @Test("A chat state is published while it is current, and is not stored.")
  func chatStates() async throws {
    let composing = "<composing xmlns='http://jabber.org/protocol/chatstates'/>"
    let active = "<active xmlns='http://jabber.org/protocol/chatstates'/>"
    let outcome = try await desk.take(
      "<message from='bob@im.example/x' type='chat'>\(composing)</message>",
      "<message from='bob@im.example/x' type='chat'>\(active)<body>done</body></message>",
      "<message from='bob@im.example/x' type='chat'>\(composing)<delay xmlns='urn:xmpp:delay' "
        + "stamp='2020-01-01T00:00:00Z'/></message>",
      "<message from='alice@im.example/phone' type='chat'>\(composing)</message>",
      "<message from='room@muc.example/x' type='groupchat'>\(composing)</message>")
    #expect(outcome.events.map(\.name) == ["chatState", "message"])
    #expect(outcome.events[0].body == .chatState(.init(from: "bob@im.example/x", state: "composing")))
    #expect(
      try await desk.store.replay(after: 0, until: 1000, account: nil).events.map(\.name) == ["message"])
  }

  @Test(
    "Forged carbon copies and unrequested or foreign archive results are counted as refused."
  )
  func refused() async throws {
    let inner =
      "<message xmlns='jabber:client' from='eve@x.example' to='mallory@x.example'><body>x</body></message>"
    let forwarded = "<forwarded xmlns='urn:xmpp:forward:0'>\(inner)</forwarded>"
    var reading: ArchiveReading? = .init(page: ArchivePage(.after(nil), maximum: 10), isKept: true)
    func result(_ id: String) -> String {
      "<message to='\(desk.own)'><result xmlns='urn:xmpp:mam:2' queryid='\(id)' id='1'>\(forwarded)</result></message>"
    }
    let asked = try #require(reading?.page.id)
    let stanzas = [
      "<message from='eve@x.example'><sent xmlns='urn:xmpp:carbons:2'>\(forwarded)</sent></message>",
      result("unasked"), result(asked), "<message from='eve@x.example'><body>honest</body></message>",
    ]
    let batch = MessageBatch(
      try stanzas.map { .arrived(try TestSupport.message($0)) } + [.handled(1)], account: desk.own.bare,
      own: desk.own,
      archiveIDs: .confirmed, reading: &reading, now: 1_800_000_000)
    #expect(batch.refused == [.carbon: 1, .archive: 2])
    let cursors = await desk.cursor.next(batch.maximumEvents)
    let events = try await desk.store.change { try batch.store(under: cursors, $0) }.events
    #expect(events.compactMap(\.message).map(\.body) == ["honest"])
    try await desk.send("1")
    let receipt = "<message from='eve@x.example'><received xmlns='urn:xmpp:receipts' id='1'/></message>"
    #expect(try await desk.take(receipt).disbelieved == 1)
  }
}
