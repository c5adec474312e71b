import FoundationEssentials
import Testing
import XMPPStanza
import XMPPXML

@testable import XMPP

@Suite("Stream management")
struct StreamManagementTests {
  fileprivate static func element(_ name: String, _ attributes: [String: String?] = [:]) -> XMLElement {
    var element = XMLElement(name, namespace: Namespaces.streamManagement)
    for (name, value) in attributes { element[name] = value }
    return element
  }

  fileprivate static func stanza(_ name: String, id: String? = nil, type: String? = nil) -> XMLElement {
    XMLElement(name, namespace: Namespaces.client, attributes: ["id": id, "type": type])
  }

  /// - Parameter start: where both counters stand.
  fileprivate static func management(
    _ attributes: [String: String?] = ["id": "s1", "resume": "true"], sent ids: [String] = [],
    startingAt start: UInt32 = 0
  ) throws -> StreamManagement {
    var management = StreamManagement(of: try JID("alice@example.org/r"))
    if start > 0 {
      management = StreamManagement(
        .init(id: "s1", jid: management.jid, handled: start, acknowledged: start, unacknowledged: []))
      _ = try management.resumed(element("resumed", ["h": String(start)]))
    }
    management.enabled(element("enabled", attributes))
    for id in ids { management.sent(stanza("message", id: id)) }
    return management
  }

  @Test(
    "A client that sends many stanzas requests acknowledgements at a fixed pace, one request at a time.")
  func pace() throws {
    var management = try Self.management()
    var questions: [Int] = []
    let pace = Int(StreamManagement.pace)
    for number in 1..<4 * pace {
      management.sent(Self.stanza("message", id: "\(number)"))
      if management.questionBetween() != nil { questions.append(number) }
    }
    #expect(questions == [pace, 2 * pace, 3 * pace])
    // What is behind the last of them is asked for when that is answered.
    #expect(management.question() == nil)
    for answer in [pace, 2 * pace] {
      #expect(try management.acknowledged(Self.element("a", ["h": "\(answer)"])).count == pace)
      #expect(management.question() == nil)
    }
    _ = try management.acknowledged(Self.element("a", ["h": "\(3 * pace)"]))
    #expect(management.question() != nil)
    // A server that has got no further is asked once more.
    _ = try management.acknowledged(Self.element("a", ["h": "\(3 * pace)"]))
    #expect(management.question() != nil)
    _ = try management.acknowledged(Self.element("a", ["h": "\(4 * pace - 1)"]))
    #expect(!management.isWaiting && management.question() == nil)
  }

  @Test("A session is not resumed for a third time in a row without an acknowledgement.")
  func unheard() throws {
    var management = try Self.management()
    let resumed = Self.element("resumed", ["h": "0"])
    for _ in 1...2 {
      _ = try management.resumed(resumed)
      #expect(management.isUnheard && management.canResume)
    }
    _ = try management.acknowledged(Self.element("a", ["h": "0"]))
    #expect(!management.isUnheard)
    for _ in 1...3 { _ = try management.resumed(resumed) }
    #expect(!management.canResume && management.resumption == nil && management.snapshot() == nil)
  }

  @Suite("Received stanzas")
  struct Handled {
    @Test("A client acknowledges received stanzas when the server asks, and counts nothing but stanzas.")
    func acknowledgement() throws {
      var management = try StreamManagementTests.management()
      for name in ["message", "presence", "iq"] { management.received(StreamManagementTests.stanza(name)) }
      management.received(XMLElement("features", namespace: Namespaces.streams))
      management.received(XMLElement("message", namespace: "x"))
      #expect(management.confirm(through: management.received) == nil)
      management.asked()
      #expect(management.confirm(through: management.received)?["h"] == "3")
      #expect(management.confirm(through: management.received) == nil)
    }

    @Test("Received stanzas count from the moment when the server has enabled stream management.")
    func beginning() throws {
      var management = StreamManagement(of: try JID("alice@example.org/r"))
      management.received(StreamManagementTests.stanza("message"))
      #expect(management.received == 0)
      management.enabled(StreamManagementTests.element("enabled"))
      management.received(StreamManagementTests.stanza("message"))
      #expect(management.received == 1)
    }

    @Test("The count of received stanzas continues with 0 after 2^32 - 1.")
    func wraps() throws {
      var management = try StreamManagementTests.management(startingAt: .max)
      management.received(StreamManagementTests.stanza("message"))
      management.asked()
      #expect(management.confirm(through: 0)?["h"] == "0")
    }

    @Test("A client acknowledges unasked after 250 received stanzas.")
    func unasked() throws {
      var management = try StreamManagementTests.management()
      for _ in 0..<249 { management.received(StreamManagementTests.stanza("message")) }
      #expect(!management.isAcknowledgementDue)
      #expect(management.confirm(through: 249) == nil)
      management.received(StreamManagementTests.stanza("message"))
      #expect(management.isAcknowledgementDue)
      #expect(management.confirm(through: 250)?["h"] == "250")
      #expect(!management.isAcknowledgementDue)
    }

    @Test("A client never acknowledges more stanzas than it has received, nor fewer than before.")
    func bounds() throws {
      var management = try StreamManagementTests.management()
      for _ in 0..<5 { management.received(StreamManagementTests.stanza("message")) }
      management.asked()
      #expect(management.confirm(through: 6) == nil)
      #expect(management.confirm(through: 5)?["h"] == "5")
      management.asked()
      #expect(management.confirm(through: 4) == nil)
    }

    @Test("A client acknowledges handled stanzas at once and the remaining ones when they have been handled.")
    func partly() throws {
      var management = try StreamManagementTests.management()
      for _ in 0..<5 { management.received(StreamManagementTests.stanza("message")) }
      management.asked()
      #expect(management.confirm(through: 3)?["h"] == "3")
      #expect(management.confirm(through: 5)?["h"] == "5")
    }
  }

  @Suite("Sent stanzas")
  struct Sent {
    @Test(
      "Sent stanzas are kept until the server acknowledges them, and one request for it is pending at a time."
    )
    func acknowledged() throws {
      var management = try StreamManagementTests.management(sent: ["a", "b", "c"])
      #expect(management.question()?.name.local == "r")
      #expect(management.question() == nil)
      #expect(
        try management.acknowledged(StreamManagementTests.element("a", ["h": "2"])).map(\.id) == ["a", "b"])
      #expect(management.question() != nil)
      #expect(try management.acknowledged(StreamManagementTests.element("a", ["h": "3"])).map(\.id) == ["c"])
      #expect(management.question() == nil)
    }

    @Test("A client requests no acknowledgement before the server has enabled stream management.")
    func beforeAgreement() throws {
      var management = StreamManagement(of: try JID("alice@example.org/r"))
      management.sent(StreamManagementTests.stanza("presence"))
      #expect(management.question() == nil)
      management.enabled(StreamManagementTests.element("enabled"))
      #expect(management.question() != nil)
      #expect(try management.acknowledged(StreamManagementTests.element("a", ["h": "1"])).count == 1)
    }

    @Test("The count of sent stanzas continues with 0 after 2^32 - 1.")
    func wraps() throws {
      var management = try StreamManagementTests.management(sent: ["a", "b"], startingAt: .max)
      #expect(try management.acknowledged(StreamManagementTests.element("a", ["h": "0"])).map(\.id) == ["a"])
      #expect(try management.acknowledged(StreamManagementTests.element("a", ["h": "1"])).map(\.id) == ["b"])
    }

    @Test(
      "An acknowledgement of more stanzas than were sent, or of fewer than before, is an error.",
      arguments: ["4", "4294967295", "0", "-1", "1.5", "x", "", "18446744073709551616", nil])
    func miscounted(_ h: String?) throws {
      var management = try StreamManagementTests.management(sent: ["a", "b", "c"])
      _ = try management.acknowledged(StreamManagementTests.element("a", ["h": "1"]))
      #expect(throws: StreamManagement.MiscountError.self) {
        try management.acknowledged(StreamManagementTests.element("a", ["h": h]))
      }
      #expect(management.unacknowledged.count == 2)
    }

    @Test("The number of sent stanzas that wait for an acknowledgement is limited.")
    func limit() throws {
      var management = try StreamManagementTests.management()
      for _ in 0..<10_000 { management.sent(StreamManagementTests.stanza("message")) }
      #expect(!management.isOverfull)
      management.sent(StreamManagementTests.stanza("message"))
      #expect(management.isOverfull)
    }
  }

  @Suite("Sessions that are resumed")
  struct Resumed {
    @Test(
      "A session cannot be resumed unless the server has promised it.", arguments: [nil, "false", "0", "yes"])
    func promise(_ resume: String?) throws {
      let management = try StreamManagementTests.management(["id": "s1", "resume": resume])
      #expect(!management.canResume)
      #expect(management.resumption == nil)
      #expect(management.snapshot() == nil)
    }

    @Test("A resumed session sends its unacknowledged stanzas again, except for requests.")
    func again() throws {
      var management = try StreamManagementTests.management(sent: ["a", "b"])
      management.sent(StreamManagementTests.stanza("iq", id: "q", type: "get"))
      management.sent(StreamManagementTests.stanza("iq", id: "r", type: "result"))
      management.sent(StreamManagementTests.stanza("presence"))
      for _ in 0..<7 { management.received(StreamManagementTests.stanza("message")) }
      _ = management.confirm(through: 5)
      let request = try #require(management.resumption)
      #expect(request["h"] == "5" && request["previd"] == "s1")

      let outcome = try management.resumed(
        StreamManagementTests.element("resumed", ["h": "1", "previd": "s1"]))
      #expect(outcome.acknowledged.map(\.id) == ["a"])
      #expect(outcome.lost.isEmpty)
      let again = management.removeUnacknowledged()
      #expect(again.map { $0["id"] } == ["b", "r", nil])
      for element in again { management.sent(element) }
      // The server counts what comes on the new connection behind what it has told.
      #expect(try management.acknowledged(StreamManagementTests.element("a", ["h": "4"])).count == 3)
      // And what it sends again behind what was handled.
      #expect(management.received == 5)
    }

    @Test("A resumption with a count of more stanzas than were sent is an error.")
    func miscounted() throws {
      var management = try StreamManagementTests.management(sent: ["a"])
      #expect(throws: StreamManagement.MiscountError.self) {
        _ = try management.resumed(StreamManagementTests.element("resumed", ["h": "2"]))
      }
    }

    @Test("A refused resumption reports the stanzas that the server has not counted as lost.")
    func refused() throws {
      var management = try StreamManagementTests.management(sent: ["a", "b"])
      management.sent(StreamManagementTests.stanza("iq", id: "q", type: "set"))
      let outcome = management.refused(StreamManagementTests.element("failed", ["h": "1"]))
      #expect(outcome.acknowledged.map(\.id) == ["a"])
      #expect(outcome.lost.map(\.id) == ["b"])
      #expect(!management.canResume)
      management = try StreamManagementTests.management(sent: ["a", "b"])
      #expect(management.refused(StreamManagementTests.element("failed")).lost.map(\.id) == ["a", "b"])
      management = try StreamManagementTests.management(sent: ["a", "b"])
      #expect(
        management.refused(StreamManagementTests.element("failed", ["h": "77"])).lost.map(\.id) == ["a", "b"])
    }
  }

  @Suite("Sessions that outlive their process")
  struct Restored {
    @Test("A stored session is restored completely, except for the content of its sent stanzas.")
    func snapshot() throws {
      var management = try StreamManagementTests.management(
        ["id": "s1", "resume": "true", "location": "[::1]:5222", "max": "600"], sent: ["a", "b"])
      management.sent(StreamManagementTests.stanza("presence", id: "p"))
      management.sent(StreamManagementTests.stanza("message", id: "c"))
      for _ in 0..<3 { management.received(StreamManagementTests.stanza("message")) }
      let snapshot = try #require(management.snapshot(handled: 2))
      #expect(snapshot.unacknowledged == ["a", "b", nil, "c"])
      var restored = StreamManagement(snapshot)
      #expect(restored.resumption?["h"] == "2")
      #expect(restored.location == "[::1]:5222" && restored.maximum == 600)
      #expect(restored.snapshot()?.unacknowledged == ["a", "b", nil, "c"])
      let outcome = try restored.resumed(StreamManagementTests.element("resumed", ["h": "3"]))
      #expect(outcome.acknowledged.map(\.id) == ["a", "b"])
      #expect(outcome.lost.map(\.id) == ["c"])
    }

    @Test(
      "A stored session survives its encoding as JSON, but an id with a line feed and an empty id are dropped."
    )
    func text() throws {
      let ids = ["a", "b\r", "c\nd", "", "é"]
      let snapshot = try #require(try StreamManagementTests.management(sent: ids).snapshot())
      let data = try JSONEncoder().encode(snapshot)
      var restored = try JSONDecoder().decode(StreamManagement.Snapshot.self, from: data)
      #expect(restored.unacknowledged == ["a", "b\r", nil, nil, "é"])
      restored.unacknowledged = snapshot.unacknowledged
      #expect(restored == snapshot)
    }

    @Test("A restored session accepts a count of more stanzas than it has stored.")
    func more() throws {
      let snapshot = try #require(try StreamManagementTests.management(sent: ["a"]).snapshot())
      var restored = StreamManagement(snapshot)
      let outcome = try restored.resumed(StreamManagementTests.element("resumed", ["h": "9"]))
      #expect(outcome.acknowledged.map(\.id) == ["a"] && outcome.lost.isEmpty)
      restored.sent(StreamManagementTests.stanza("message", id: "b"))
      #expect(try restored.acknowledged(StreamManagementTests.element("a", ["h": "10"])).map(\.id) == ["b"])
    }

    @Test("A restored session refuses a count below the one that was acknowledged before.")
    func less() throws {
      var management = try StreamManagementTests.management(sent: ["a", "b"])
      _ = try management.acknowledged(StreamManagementTests.element("a", ["h": "2"]))
      var restored = StreamManagement(try #require(management.snapshot()))
      #expect(throws: StreamManagement.MiscountError.self) {
        _ = try restored.resumed(StreamManagementTests.element("resumed", ["h": "1"]))
      }
    }
  }
}
