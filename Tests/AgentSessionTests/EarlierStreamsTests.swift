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

  @Test("After a resumption, uncounted messages are in doubt, and messages that were never sent are missing.")
  func resumed() throws {
    var earlier = EarlierStreams()
    earlier.begin()
    let known = earlier.settlement(
      try window("a", "b"), resumes: true, try bound(isResumed: true, unacknowledged: ["b"]))
    #expect(known == OutboxSettlement(acknowledged: ["a"], missing: ["n"], uncounted: ["b"]))
  }

  @Test(
    "A message that a resumed session has not counted stays in doubt until it is sent again.")
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

  @Test("A new session without resumption leaves the messages in flight in doubt.")
  func new() throws {
    var earlier = EarlierStreams()
    earlier.begin()
    let known = earlier.settlement(try window("a"), resumes: false, try bound(isResumed: false))
    #expect(known == OutboxSettlement(missing: ["n"]))
  }

  @Test(
    "No message counts as acknowledged after a stream that ended before its settlement."
  )
  func unsettled() throws {
    var earlier = EarlierStreams()
    earlier.begin()
    earlier.begin()
    let known = earlier.settlement(try window("a"), resumes: true, try bound(isResumed: true))
    #expect(known.acknowledged.isEmpty)
  }

  @Test("The stored message ids of an earlier agent are used for the first settlement only.")
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
