import TestSupport
import Testing
import XMPPFeatures
import XMPPStanza
import XMPPXML

@testable import AgentStore

@Suite struct IncomingMessageTests {
  private let own: JID
  private let now = 1_800_000_000.0
  init() throws { own = try JID("alice@im.example/desk") }

  private func message(_ attributes: String, _ children: String) throws -> Message {
    try TestSupport.message("<message \(attributes)>\(children)</message>")
  }

  private func stored(_ attributes: String, _ children: String, hasArchive: Bool = true) throws
    -> StoredMessage?
  {
    IncomingMessage(try message(attributes, children), own: own)?
      .stored(own: own, hasArchive: hasArchive, now: now)
  }

  @Test("A direct message is stored with its ids, and with an archive id only if the server has an archive.")
  func direct() throws {
    let children =
      "<body>hi</body><subject>s</subject><thread>t</thread><origin-id xmlns='urn:xmpp:sid:0' id='o'/>"
      + "<stanza-id xmlns='urn:xmpp:sid:0' by='alice@im.example' id='a'/>"
    let from = "from='bob@im.example/x' to='alice@im.example' type='chat' id='1'"
    let message = try #require(try stored(from, children))
    #expect(message.direction == .received && message.sender == "bob@im.example")
    #expect([message.id, message.originID, message.archiveID] == ["1", "o", "a"])
    #expect([message.body, message.subject, message.thread] == ["hi", "s", "t"])
    #expect(message.time == now && !message.isDelayed)
    #expect(try stored(from, children, hasArchive: false)?.archiveID == nil)
  }

  @Test("A message without content for a person is not stored, but an error or an encrypted message is.")
  func contents() throws {
    #expect(try stored("from='b@c'", "<active xmlns='http://jabber.org/protocol/chatstates'/>") == nil)
    #expect(try stored("from='b@c' type='error' id='1'", "<error type='cancel'/>")?.type == .error)
    let secret = try stored("from='b@c'", "<encrypted xmlns='eu.siacs.conversations.axolotl'/>")
    #expect(secret?.isEncrypted == true)
  }

  @Test(
    "The delay time of a message is used unless it is impossible or in the future.",
    arguments: [
      ("2026-11-21T02:42:13Z", 1_795_228_933.0), ("2027-01-15T08:00:30Z", 1_800_000_000),
      ("2199-01-01T00:00:00Z", nil), ("292277026596-01-01T00:00:00Z", nil), ("1969-12-31T23:59:59Z", nil),
    ] as [(String, Double?)])
  func delay(stamp: String, time: Double?) throws {
    let message = try #require(
      try stored("from='b@c'", "<body>x</body><delay xmlns='urn:xmpp:delay' stamp='\(stamp)'/>"))
    #expect(message.time == time ?? now)
    #expect(message.isDelayed == (time != nil))
  }

  @Test("A forged carbon copy or archive result is not stored, and neither is a copy inside a copy.")
  func forged() throws {
    let inner =
      "<forwarded xmlns='urn:xmpp:forward:0'><message xmlns='jabber:client' from='b@c' "
      + "to='alice@im.example'><body>x</body>"
    let end = "</message></forwarded>"
    let carbon = "<received xmlns='urn:xmpp:carbons:2'>"
    let result = "<result xmlns='urn:xmpp:mam:2' id='1'>"
    for from in ["from='b@c' ", "", "from='alice@im.example/desk' "] {
      #expect(try stored(from, "<body>y</body>" + carbon + inner + end + "</received>") == nil)
    }
    let ownBare = "from='alice@im.example' "
    #expect(try stored(ownBare, carbon + inner + end + "</received>")?.isCarbon == true)
    #expect(try stored(ownBare, result + inner + end + "</result>") == nil)
    #expect(
      try stored(ownBare, carbon + inner + carbon + inner + end + "</received>" + end + "</received>") == nil)
  }

  @Test("The sender of a message in a room is the occupant, so that nobody can correct another's message.")
  func room() throws {
    let message = try stored("from='room@muc.example/nick' type='groupchat'", "<body>x</body>")
    #expect(message?.sender == "room@muc.example/nick")
  }
}
