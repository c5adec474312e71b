import Testing
import XMPPFeatures
import XMPPStanza
import XMPPXML

@testable import AgentSession

@Suite("The queue of incoming contact changes")
struct ContactArrivalsTests {
  private let own: JID

  init() throws { own = try JID("alice@im.example/desk") }

  private func push(_ name: String, from: JID? = nil) -> ContactArrivals.Arrival {
    let item = XMLElement(
      "item", namespace: Namespaces.roster, attributes: ["jid": "\(name)@im.example"])
    return .push(
      IQ(
        type: .set, from: from, id: name,
        payload: [XMLElement("query", namespace: Namespaces.roster, children: [item])]))
  }

  @Test("Successive roster pushes are taken from the queue together, up to 250 at a time.")
  func together() throws {
    var arrivals = ContactArrivals()
    arrivals.append((1...600).map { push("c\($0)") })
    var sizes: [Int] = []
    while case .push(let first)? = arrivals.popFirst() {
      #expect(Roster.Push(first, own: own) != nil)
      sizes.append(1 + arrivals.popRosterPushes(own: own).count)
    }
    #expect(sizes == [250, 250, 100])
  }

  @Test("A presence or a push from a stranger separates the groups of roster pushes, and keeps its place.")
  func order() throws {
    var arrivals = ContactArrivals()
    let mallory = try JID("mallory@evil.example")
    arrivals.append([push("a"), push("b"), .presence(Presence()), push("c"), push("d", from: mallory)])
    #expect(arrivals.popRosterPushes(own: own).map(\.jid.description) == ["a@im.example", "b@im.example"])
    guard case .presence? = arrivals.popFirst() else {
      Issue.record("The presence is not next.")
      return
    }
    #expect(arrivals.popRosterPushes(own: own).count == 1)
    #expect(arrivals.popRosterPushes(own: own).isEmpty)
    #expect(arrivals.popFirst() != nil)
    #expect(arrivals.popFirst() == nil)
  }

  @Test("The queue counts as full when it holds more changes than its maximum.")
  func bound() {
    var arrivals = ContactArrivals()
    arrivals.append(Array(repeating: .begun, count: ContactArrivals.maximum))
    #expect(!arrivals.isFull)
    arrivals.append([.begun])
    #expect(arrivals.isFull)
    arrivals.removeAll()
    #expect(!arrivals.isFull)
  }
}
