import TestSupport
import Testing
import XMPP
import XMPPStanza
import XMPPXML

@testable import XMPPFeatures

@Suite struct RosterTests {
  private let own: JID
  init() throws { own = try JID("alice@im.example/desk") }

  private func answer(_ xml: String, type: String = "result", from: String? = nil) throws -> IQ {
    let from = from.map { " from='\($0)'" } ?? ""
    return try #require(
      IQ(try element("<iq xmlns='jabber:client' type='\(type)' id='1'\(from)>\(xml)</iq>")))
  }

  private func push(_ items: String, from: String? = nil) throws -> IQ {
    try answer("<query xmlns='jabber:iq:roster' ver='v'>\(items)</query>", type: "set", from: from)
  }

  @Test("A roster is read from its result, and entries without a valid JID are left out.")
  func result() throws {
    let xml = """
      <query xmlns='jabber:iq:roster' ver='7'>
        <item jid='bob@im.example' name='Bob' subscription='both'><group>A</group><group>B</group><group>A</group></item>
        <item jid='@@'/><item name='nobody'/><other jid='x@y'/>
        <item jid='carol@im.example' ask='subscribe' approved='true'/>
        <item jid='dan@im.example' subscription='sometimes' name=''/>
      </query>
      """
    let roster = try #require(Roster(try answer(xml)))
    #expect(roster.version == "7")
    #expect(
      roster.items == [
        Roster.Item(jid: try JID("bob@im.example"), name: "Bob", subscription: .both, groups: ["A", "B"]),
        Roster.Item(jid: try JID("carol@im.example"), isAsked: true, isApproved: true),
        // What is not known stands for none.
        Roster.Item(jid: try JID("dan@im.example")),
      ])
  }

  @Test("A result without a roster means that the stored roster is up to date.")
  func noRoster() throws {
    #expect(Roster(IQ(type: .result, id: "1")) == nil)
    #expect(Roster(try answer("<query xmlns='other'/>")) == nil)
    #expect(Roster(try answer("<query xmlns='jabber:iq:roster'/>", type: "error")) == nil)
    #expect(Roster(try answer("<query xmlns='jabber:iq:roster'/>")) == Roster())
  }

  @Test("The number of contacts, and the size of each contact, is limited.")
  func bounds() throws {
    let groups = (0..<1000).map { "<group>\($0)</group>" }.joined()
    let long = String(repeating: "é", count: 5000)
    let one = try #require(
      Roster(
        try answer(
          "<query xmlns='jabber:iq:roster'><item jid='a@b' name='\(long)'>\(groups)<group>\(long)</group></item></query>"
        ))
    ).items[0]
    #expect(one.name?.unicodeScalars.count == Roster.maximumText)
    #expect(one.groups.count == Roster.maximumGroups)
    var query = XMLElement("query", namespace: Namespaces.roster)
    query.children = (0..<Roster.maximumItems + 5).map {
      .element(XMLElement("item", namespace: Namespaces.roster, attributes: ["jid": "u\($0)@b"]))
    }
    #expect(Roster(IQ(type: .result, id: "1", payload: [query]))?.items.count == Roster.maximumItems)
  }

  @Test("The roster requests have the form of RFC 6121.")
  func requests() throws {
    func xml(_ request: IQ) -> String? { request.payload.first?.xmlString() }
    #expect(xml(Roster.request()) == "<query xmlns='jabber:iq:roster'/>")
    #expect(xml(Roster.request(version: "")) == "<query xmlns='jabber:iq:roster' ver=''/>")
    #expect(xml(Roster.request(version: "ver14")) == "<query xmlns='jabber:iq:roster' ver='ver14'/>")
    let nurse = try JID("nurse@example.com")
    #expect(
      xml(Roster.set(nurse, name: "Nurse", groups: ["Servants", "<&>"]))
        == "<query xmlns='jabber:iq:roster'><item jid='nurse@example.com' name='Nurse'><group>Servants</group>"
        + "<group>&lt;&amp;&gt;</group></item></query>")
    #expect(
      xml(Roster.remove(nurse))
        == "<query xmlns='jabber:iq:roster'><item jid='nurse@example.com' subscription='remove'/></query>")
    let features = StreamFeatures(
      try element(
        "<features xmlns='http://etherx.jabber.org/streams'><ver xmlns='urn:xmpp:features:rosterver'/></features>"
      ))
    #expect(Roster.isVersioned(features))
    #expect(!PresenceSubscription.isPreApprovalOffered(features))
  }

  @Test(
    "A roster push from the own account is acknowledged.",
    arguments: [nil, "alice@im.example", "ALICE@im.example"])
  func push(from: String?) throws {
    let push = try push("<item jid='b@c'/>", from: from)
    #expect(Roster.accepts(push: push, own: own))
    let answer = Roster.responder(own: own).1(push)
    #expect(answer?.type == .result)
    #expect(answer?.id == "1")
    #expect(answer?.to == push.from)
    #expect(Roster.Push(push, own: own)?.version == "v")
  }

  @Test(
    "A roster push from anyone but the own account is refused and changes nothing.",
    arguments: [
      "mallory@evil.example", "im.example", "alice@im.example/phone", "alice@im.example/desk",
      "alice@evil.example", "аlice@im.example",
    ])
  func foreignPush(from: String) throws {
    let push = try push("<item jid='evil@evil.example'/>", from: from)
    #expect(!Roster.accepts(push: push, own: own))
    #expect(Roster.responder(own: own).1(push) == nil)
    #expect(Roster.Push(push, own: own) == nil)
  }

  @Test(
    "A roster push that does not contain exactly one contact is refused (RFC 6121 §2.1.6).",
    arguments: ["", "<item jid='a@b'/><item jid='c@d'/>", "<item jid='@'/>", "<item/>", "<group>x</group>"])
  func oddPush(items: String) throws {
    let push = try push(items)
    #expect(Roster.Push(push, own: own) == nil)
    #expect(Roster.responder(own: own).1(push) == nil)
  }

  @Test("A request for the roster does not count as a roster push.")
  func get() throws {
    let get = try answer("<query xmlns='jabber:iq:roster'><item jid='a@b'/></query>", type: "get")
    #expect(!Roster.accepts(push: get, own: own))
    #expect(Roster.Push(get, own: own) == nil)
  }

  @Test("A roster push adds, changes or removes a contact.")
  func apply() throws {
    var roster = Roster(items: [Roster.Item(jid: try JID("b@c"), name: "B")], version: "1")
    func take(_ item: String) throws {
      roster.apply(try #require(Roster.Push(try push(item), own: own)))
    }
    try take("<item jid='d@e' subscription='to'/>")
    try take("<item jid='B@c' name='Bee'/>")
    #expect(roster.items.map(\.name) == ["Bee", nil])
    try take("<item jid='b@c' subscription='remove'/>")
    try take("<item jid='nobody@c' subscription='remove'/>")
    #expect(roster.items.map(\.jid.description) == ["d@e"])
    #expect(roster.version == "v")
  }
}
