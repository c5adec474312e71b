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
    "Who asked the own account accepts its server's ways of saying so.",
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
    "Who asked the own account takes nobody else's answer.",
    arguments: [
      "mallory@example.org", "alice@example.org/y", "example.net", "alice@example.net",
    ])
  func strangers(_ from: String) throws {
    var tracker = IQTracker<Int>()
    tracker.add("1", to: nil, 7)
    #expect(tracker.removeWaiter(answeredBy: try answer("1", from: from), own: own) == nil)
    #expect(!tracker.isEmpty)
  }

  @Test("An answer from somebody else than was asked, or from nobody, is ignored.")
  func asked() throws {
    var tracker = IQTracker<Int>()
    tracker.add("1", to: try JID("bob@example.org/y"), 7)
    for from in [nil, "bob@example.org", "alice@example.org", "example.org"] {
      #expect(tracker.removeWaiter(answeredBy: try answer("1", from: from), own: own) == nil)
    }
    #expect(tracker.removeWaiter(answeredBy: try answer("1", from: "bob@example.org/y"), own: own) == 7)
  }

  @Test("A request of the same id is no answer, and an answer counts once.")
  func kinds() throws {
    var tracker = IQTracker<Int>()
    tracker.add("1", to: nil, 7)
    #expect(tracker.removeWaiter(answeredBy: IQ(type: .get, id: "1"), own: own) == nil)
    #expect(tracker.removeWaiter(answeredBy: try answer("2", from: nil), own: own) == nil)
    #expect(tracker.removeWaiter(answeredBy: try answer("1", from: nil), own: own) == 7)
    #expect(tracker.removeWaiter(answeredBy: try answer("1", from: nil), own: own) == nil)
  }

  @Test("Ids do not repeat and are long enough not to be guessed.")
  func ids() {
    let ids = Set((0..<1000).map { _ in IQ.makeID() })
    #expect(ids.count == 1000)
    #expect(ids.allSatisfy { $0.count > 16 })
  }
}
