import Testing
import XMPP
import XMPPStanza
import XMPPXML

@testable import XMPPFeatures

@Suite struct RosterTests {
  private let own: JID
  init() throws { own = try JID("alice@im.example/desk") }

  private func query(_ items: [[String: String]], version: String? = nil) -> XMLElement {
    var query = XMLElement("query", namespace: Namespaces.roster)
    query["ver"] = version
    query.children = items.map { attributes in
      var item = XMLElement("item", namespace: Namespaces.roster)
      for (name, value) in attributes { item[XMLName(name, "")] = value }
      return .element(item)
    }
    return query
  }

  @Test("A result is read, and entries whose JID is not valid are left out.")
  func result() throws {
    let answer = IQ(
      type: .result, id: "1",
      payload: [
        query(
          [
            ["jid": "bob@im.example", "name": "Bob", "subscription": "both"], ["jid": "@@"],
            ["name": "nobody"],
            ["jid": "carol@im.example", "ask": "subscribe"],
          ], version: "7")
      ])
    let roster = try #require(Roster(answer))
    #expect(roster.version == "7")
    #expect(roster.items.map(\.jid.description) == ["bob@im.example", "carol@im.example"])
    #expect(roster.items.map(\.subscription) == ["both", "none"])
    #expect(roster.items.map(\.isAsked) == [false, true])
    #expect(roster.items.first?.name == "Bob")
  }

  @Test("A result without a roster is none.")
  func noRoster() {
    #expect(Roster(IQ(type: .result, id: "1")) == nil)
    #expect(Roster(IQ(type: .result, id: "1", payload: [XMLElement("query", namespace: "other")])) == nil)
  }

  @Test(
    "A push of the own account is acknowledged.", arguments: [nil, "alice@im.example", "ALICE@im.example"])
  func push(from: String?) throws {
    let push = IQ(type: .set, from: try from.map { try JID($0) }, id: "p", payload: [query([["jid": "b@c"]])])
    #expect(Roster.accepts(push: push, own: own))
    let answer = Roster.responder(own: own).1(push)
    #expect(answer?.type == .result)
    #expect(answer?.id == "p")
    #expect(answer?.to == push.from)
  }

  @Test(
    "A push of anyone else is refused.",
    arguments: [
      "mallory@evil.example", "im.example", "alice@im.example/phone", "alice@evil.example",
      "аlice@im.example",
    ])
  func foreignPush(from: String) throws {
    let push = IQ(type: .set, from: try JID(from), id: "p", payload: [query([["jid": "evil@evil.example"]])])
    #expect(!Roster.accepts(push: push, own: own))
    #expect(Roster.responder(own: own).1(push) == nil)
  }

  @Test("A request for the roster is no push.")
  func get() throws {
    #expect(!Roster.accepts(push: IQ(type: .get, id: "p", payload: [query([])]), own: own))
  }
}
