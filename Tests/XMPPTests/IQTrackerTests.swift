import Testing
import XMPPStanza

@testable import XMPP

@Suite struct IQTrackerTests {
  let own: JID
  init() throws { own = try JID("alice@example.org/x") }

  private func answer(_ id: String, from: String?) throws -> IQ {
    IQ(type: .result, from: try from.map { try JID($0) }, id: id)
  }

  @Test(
    "An answer to a request to the own account comes from the account, the server or no sender.",
    arguments: [
      nil, "alice@example.org", "alice@example.org/x", "example.org",
    ])
  func ownAccount(_ from: String?) throws {
    var tracker = IQTracker<Int>()
    tracker.add("1", to: nil, 7)
    #expect(tracker.removeWaiter(answeredBy: try answer("1", from: from), own: own) == 7)
    #expect(tracker.isEmpty)
  }

  @Test(
    "An answer to a request to the own account is ignored if it comes from another address.",
    arguments: [
      "mallory@example.org", "alice@example.org/y", "example.net", "alice@example.net",
    ])
  func strangers(_ from: String) throws {
    var tracker = IQTracker<Int>()
    tracker.add("1", to: nil, 7)
    #expect(tracker.removeWaiter(answeredBy: try answer("1", from: from), own: own) == nil)
    #expect(!tracker.isEmpty)
  }

  @Test("An answer to a request is ignored unless it comes from exactly the address that was asked.")
  func asked() throws {
    var tracker = IQTracker<Int>()
    tracker.add("1", to: try JID("bob@example.org/y"), 7)
    for from in [nil, "bob@example.org", "alice@example.org", "example.org"] {
      #expect(tracker.removeWaiter(answeredBy: try answer("1", from: from), own: own) == nil)
    }
    #expect(tracker.removeWaiter(answeredBy: try answer("1", from: "bob@example.org/y"), own: own) == 7)
  }

  @Test("A request with the same id does not count as an answer, and an answer counts only once.")
  func kinds() throws {
    var tracker = IQTracker<Int>()
    tracker.add("1", to: nil, 7)
    #expect(tracker.removeWaiter(answeredBy: IQ(type: .get, id: "1"), own: own) == nil)
    #expect(tracker.removeWaiter(answeredBy: try answer("2", from: nil), own: own) == nil)
    #expect(tracker.removeWaiter(answeredBy: try answer("1", from: nil), own: own) == 7)
    #expect(tracker.removeWaiter(answeredBy: try answer("1", from: nil), own: own) == nil)
  }

  @Test("The ids of requests do not repeat and are too long to guess.")
  func ids() {
    let ids = Set((0..<1000).map { _ in IQ.makeID() })
    #expect(ids.count == 1000)
    #expect(ids.allSatisfy { $0.count > 16 })
  }
}
