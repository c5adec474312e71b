import Testing
import XMPP
import XMPPSASL
import XMPPStanza
import XMPPTransport
import XMPPXML

@testable import AgentSession
@testable import AgentStore

/// What a stream tells of the messages that were handed to those before it.
@Suite struct EarlierStreamsTests {
  private func bound(isResumed: Bool, unacknowledged: [String] = []) throws -> BoundStream {
    var bound = BoundStream(
      jid: try JID("a@b/c"), target: ServerTarget(host: "b", port: 5222, tls: .startTLS),
      mechanism: .scramSHA256, features: StreamFeatures(XMLElement("features", namespace: Namespaces.streams))
    )
    bound.isResumed = isResumed
    bound.unacknowledged = unacknowledged.map { SentStanza(id: $0, element: nil) }
    return bound
  }

  /// One in flight for each letter, and `n` that is next.
  private func window(_ inFlight: String...) throws -> SendWindow {
    let to = try JID("bob@im.example")
    func message(_ id: String) -> OutboxMessage { OutboxMessage(id: id, to: to, body: "", accepted: 5) }
    var window = SendWindow(ready: inFlight.map(message))
    _ = window.next()
    window.append([message("n")])
    return window
  }

  @Test("A resumed session has what it does not count as missing; what never was handed over it cannot have.")
  func resumed() throws {
    var earlier = EarlierStreams()
    earlier.begin()
    let known = earlier.settlement(
      try window("a", "b"), resumes: true, try bound(isResumed: true, unacknowledged: ["b"]))
    #expect(known == OutboxSettlement(acknowledged: ["a"], missing: ["n"], uncounted: ["b"]))
  }

  @Test(
    "What a resumed session had not counted stays in doubt in the next one, until it is handed over again.")
  func again() throws {
    var earlier = EarlierStreams()
    earlier.begin()
    _ = earlier.settlement(
      try window("a"), resumes: true, try bound(isResumed: true, unacknowledged: ["a"]))
    earlier.begin()
    let doubtful = earlier.settlement(SendWindow(), resumes: true, try bound(isResumed: true))
    #expect(doubtful.uncounted == ["a"])
    earlier.handedOverAgain()
    earlier.begin()
    let settled = earlier.settlement(SendWindow(), resumes: true, try bound(isResumed: true))
    #expect(settled == OutboxSettlement())
  }

  @Test("A new session that resumes nothing says nothing of what was in flight.")
  func new() throws {
    var earlier = EarlierStreams()
    earlier.begin()
    let known = earlier.settlement(try window("a"), resumes: false, try bound(isResumed: false))
    #expect(known == OutboxSettlement(missing: ["n"]))
  }

  @Test(
    "A stream that ended before that was known makes the next one count for others, too: nothing follows of it."
  )
  func unsettled() throws {
    var earlier = EarlierStreams()
    earlier.begin()
    earlier.begin()
    let known = earlier.settlement(try window("a"), resumes: true, try bound(isResumed: true))
    #expect(known.acknowledged.isEmpty)
  }

  @Test("After a restart the ids of the stored session count, once.")
  func restored() throws {
    var earlier = EarlierStreams()
    earlier.restored = ["x", "y"]
    earlier.begin()
    let known = earlier.settlement(
      SendWindow(), resumes: true, try bound(isResumed: true, unacknowledged: ["y"]))
    #expect(known.acknowledged == ["x"] && known.uncounted == ["y"])
    #expect(earlier.restored == nil)
  }
}
