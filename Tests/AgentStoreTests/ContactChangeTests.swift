import AgentProtocol
import Testing
import XMPPFeatures
import XMPPStanza

@testable import AgentStore

@Suite struct ContactChangeTests {
  private let bob: Roster.Item
  init() throws { bob = Roster.Item(jid: try JID("bob@im.example")) }

  private func told(_ old: Roster.Item?, _ new: Roster.Item?, isOwn: Bool = false) -> [String] {
    ContactChange.events(from: old, to: new, isOwn: isOwn).map { event in
      #expect(event.jid == "bob@im.example")
      return "\(event.action.rawValue) \(event.by?.rawValue ?? "?")"
    }
  }

  private func with(_ change: (inout Roster.Item) -> Void) -> Roster.Item {
    var item = bob
    change(&item)
    return item
  }

  @Test("A contact event names the other device or this account as the one that has made the change.")
  func actor() {
    let named = with { $0.name = "Bob" }
    let grouped = with { $0.groups = ["work"] }
    for (isOwn, by) in [(false, "other-device"), (true, "self")] {
      #expect(told(nil, bob, isOwn: isOwn) == ["add \(by)"])
      #expect(told(bob, nil, isOwn: isOwn) == ["remove \(by)"])
      #expect(told(bob, named, isOwn: isOwn) == ["update \(by)"])
      #expect(told(bob, grouped, isOwn: isOwn) == ["update \(by)"])
      #expect(told(bob, with { $0.isAsked = true }, isOwn: isOwn) == ["subscribe \(by)"])
      #expect(told(bob, with { $0.subscription = .from }, isOwn: isOwn) == ["accept \(by)"])
      #expect(told(bob, with { $0.isApproved = true }, isOwn: isOwn) == ["approve \(by)"])
    }
    #expect(told(nil, nil) == [])
    #expect(told(named, named) == [])
    #expect(told(with { $0.groups = ["a", "b"] }, with { $0.groups = ["b", "a"] }) == [])
  }

  @Test(
    "A roster push with from or both means an accepted request (RFC 6121 §3.1.5), even for a new contact.")
  func accepted() {
    let from = with { $0.subscription = .from }
    let to = with { $0.subscription = .to }
    let both = with { $0.subscription = .both }
    #expect(told(nil, from) == ["add other-device", "accept other-device"])
    #expect(told(to, both) == ["accept other-device"])
    #expect(told(from, both) == ["subscribed contact"])
    #expect(told(with { $0.isApproved = true }, from) == ["accept contact"])
    #expect(told(from, from) == [])
  }

  @Test("A lost subscription is an event, which names nobody if either side may have ended it.")
  func lost() {
    let asked = with { $0.isAsked = true }
    let both = with { $0.subscription = .both }
    #expect(told(asked, bob) == ["unsubscribed contact"])
    #expect(told(asked, with { $0.subscription = .to }) == ["subscribed contact"])
    #expect(told(both, bob) == ["unsubscribe ?", "unsubscribed ?"])
    #expect(told(both, with { $0.subscription = .to }, isOwn: true) == ["unsubscribe self"])
    #expect(told(both, with { $0.subscription = .from }) == ["unsubscribed ?"])
  }

  @Test("A change never has more events than the number that is reserved for it.")
  func bound() {
    let subscriptions: [Roster.Subscription] = [.none, .to, .from, .both]
    var items: [Roster.Item?] = [nil]
    for subscription in subscriptions {
      for name in [nil, "B"] {
        for bits in 0..<4 {
          items.append(
            with {
              $0.subscription = subscription
              $0.name = name
              $0.isAsked = bits & 1 > 0
              $0.isApproved = bits & 2 > 0
            })
        }
      }
    }
    for old in items {
      for new in items {
        #expect(
          ContactChange.events(from: old, to: new, isOwn: false).count <= ContactChange.maximumEvents)
      }
    }
  }
}
