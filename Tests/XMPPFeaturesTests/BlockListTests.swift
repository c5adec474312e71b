import TestSupport
import Testing
import XMPP
import XMPPStanza
import XMPPXML

@testable import XMPPFeatures

@Suite struct BlockListTests {
  private let own: JID
  init() throws { own = try JID("juliet@capulet.com/chamber") }

  private func iq(_ xml: String, type: String = "set", from: String? = nil) throws -> IQ {
    let from = from.map { " from='\($0)'" } ?? ""
    return try #require(
      IQ(try element("<iq xmlns='jabber:client' type='\(type)' id='1'\(from)>\(xml)</iq>")))
  }

  @Test("A block list is read as in XEP-0191, and entries without a valid JID are left out.")
  func list() throws {
    let list = try #require(
      BlockList(
        try iq(
          "<blocklist xmlns='urn:xmpp:blocking'><item jid='romeo@montague.net'/><item jid='iago@shakespeare.lit'/>"
            + "<item jid='@'/><item/><other jid='a@b'/></blocklist>", type: "result")))
    #expect(list.jids.map(\.description).sorted() == ["iago@shakespeare.lit", "romeo@montague.net"])
    #expect(BlockList(try iq("<blocklist xmlns='urn:xmpp:blocking'/>", type: "error")) == nil)
    #expect(BlockList(try iq("<blocklist xmlns='other'/>", type: "result")) == nil)
  }

  @Test("The requests for the block list have the form of XEP-0191.")
  func requests() throws {
    let romeo = try JID("romeo@montague.net")
    func xml(_ request: IQ) -> String? { request.payload.first?.xmlString() }
    #expect(xml(BlockList.request()) == "<blocklist xmlns='urn:xmpp:blocking'/>")
    #expect(
      xml(BlockList.block([romeo]))
        == "<block xmlns='urn:xmpp:blocking'><item jid='romeo@montague.net'/></block>")
    #expect(
      xml(BlockList.unblock([romeo]))
        == "<unblock xmlns='urn:xmpp:blocking'><item jid='romeo@montague.net'/></unblock>")
    #expect(xml(BlockList.unblockAll()) == "<unblock xmlns='urn:xmpp:blocking'/>")
  }

  @Test("A push changes the block list, even if it has no sender.", arguments: [nil, "juliet@capulet.com"])
  func pushes(from: String?) throws {
    var list = BlockList()
    func take(_ xml: String) throws {
      let push = try iq(xml, from: from)
      for (name, responder) in BlockList.responders(own: own) where name == push.payload.first?.name {
        #expect(responder(push)?.type == .result)
      }
      list.apply(try #require(BlockList.Push(push, own: own)))
    }
    try take("<block xmlns='urn:xmpp:blocking'><item jid='a@b'/><item jid='c.example'/></block>")
    let blocked = try ["a@b/x", "any@c.example/x", "b@b", "a@sub.c.example"].map { list.blocks(try JID($0)) }
    #expect(blocked == [true, true, false, false])
    try take("<unblock xmlns='urn:xmpp:blocking'><item jid='a@b'/></unblock>")
    #expect(list.jids.map(\.description) == ["c.example"])
    try take("<unblock xmlns='urn:xmpp:blocking'/>")
    #expect(list == BlockList())
  }

  @Test(
    "A push from anyone but the own account is refused and changes nothing.",
    arguments: ["mallory@evil.example", "capulet.com", "juliet@capulet.com/phone", "juliet@evil.com"])
  func foreign(from: String) throws {
    for xml in [
      "<unblock xmlns='urn:xmpp:blocking'/>", "<block xmlns='urn:xmpp:blocking'><item jid='a@b'/></block>",
    ] {
      let push = try iq(xml, from: from)
      #expect(BlockList.Push(push, own: own) == nil)
      for (_, responder) in BlockList.responders(own: own) { #expect(responder(push) == nil) }
    }
    #expect(BlockList.Push(try iq("<unblock xmlns='urn:xmpp:blocking'/>", type: "get"), own: own) == nil)
  }

  @Test("The number of entries in a block list is limited.")
  func bounds() throws {
    var list = BlockList()
    for part in 0..<3 {
      list.apply(.block(try (0..<10_000).map { try JID("u\(part)-\($0)@b") }))
    }
    #expect(list.jids.count == BlockList.maximumEntries)
  }
}
