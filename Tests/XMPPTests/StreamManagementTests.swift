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
    "Amid many stanzas the server is asked again and again, and each answer but the last awaits the next.")
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

  @Test("A session is not resumed again and again without an acknowledgement of anything.")
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

  @Suite("What was handled")
  struct Handled {
    @Test("What was handled is told when the server asks: stanzas alone count.")
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

    @Test("What was handled counts from the server's agreement on.")
    func beginning() throws {
      var management = StreamManagement(of: try JID("alice@example.org/r"))
      management.received(StreamManagementTests.stanza("message"))
      #expect(management.received == 0)
      management.enabled(StreamManagementTests.element("enabled"))
      management.received(StreamManagementTests.stanza("message"))
      #expect(management.received == 1)
    }

    @Test("What was handled goes on with 0 behind 2^32 - 1.")
    func wraps() throws {
      var management = try StreamManagementTests.management(startingAt: .max)
      management.received(StreamManagementTests.stanza("message"))
      management.asked()
      #expect(management.confirm(through: 0)?["h"] == "0")
    }

    @Test("What was handled is told unasked when it is much.")
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

    @Test("What was handled is no more than has come, and does not go back.")
    func bounds() throws {
      var management = try StreamManagementTests.management()
      for _ in 0..<5 { management.received(StreamManagementTests.stanza("message")) }
      management.asked()
      #expect(management.confirm(through: 6) == nil)
      #expect(management.confirm(through: 5)?["h"] == "5")
      management.asked()
      #expect(management.confirm(through: 4) == nil)
    }

    @Test("What was handled so far is told at once, and the rest when it is handled.")
    func partly() throws {
      var management = try StreamManagementTests.management()
      for _ in 0..<5 { management.received(StreamManagementTests.stanza("message")) }
      management.asked()
      #expect(management.confirm(through: 3)?["h"] == "3")
      #expect(management.confirm(through: 5)?["h"] == "5")
    }
  }

  @Suite("What was sent")
  struct Sent {
    @Test("What was sent waits until the server has acknowledged it; one question at a time.")
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

    @Test("What was sent is not asked for before the server has agreed.")
    func beforeAgreement() throws {
      var management = StreamManagement(of: try JID("alice@example.org/r"))
      management.sent(StreamManagementTests.stanza("presence"))
      #expect(management.question() == nil)
      management.enabled(StreamManagementTests.element("enabled"))
      #expect(management.question() != nil)
      #expect(try management.acknowledged(StreamManagementTests.element("a", ["h": "1"])).count == 1)
    }

    @Test("What was sent is counted beyond 2^32 - 1.")
    func wraps() throws {
      var management = try StreamManagementTests.management(sent: ["a", "b"], startingAt: .max)
      #expect(try management.acknowledged(StreamManagementTests.element("a", ["h": "0"])).map(\.id) == ["a"])
      #expect(try management.acknowledged(StreamManagementTests.element("a", ["h": "1"])).map(\.id) == ["b"])
    }

    @Test(
      "What was sent cannot be more than it was, nor less than before.",
      arguments: ["4", "4294967295", "0", "-1", "1.5", "x", "", "18446744073709551616", nil])
    func miscounted(_ h: String?) throws {
      var management = try StreamManagementTests.management(sent: ["a", "b", "c"])
      _ = try management.acknowledged(StreamManagementTests.element("a", ["h": "1"]))
      #expect(throws: StreamManagement.MiscountError.self) {
        try management.acknowledged(StreamManagementTests.element("a", ["h": h]))
      }
      #expect(management.unacknowledged.count == 2)
    }

    @Test("What was sent and never acknowledged is no reason to keep more and more of it.")
    func limit() throws {
      var management = try StreamManagementTests.management()
      for _ in 0..<10_000 { management.sent(StreamManagementTests.stanza("message")) }
      #expect(!management.isOverfull)
      management.sent(StreamManagementTests.stanza("message"))
      #expect(management.isOverfull)
    }
  }

  @Suite("A session that goes on")
  struct Resumed {
    @Test("A session that goes on needs the server's promise.", arguments: [nil, "false", "0", "yes"])
    func promise(_ resume: String?) throws {
      let management = try StreamManagementTests.management(["id": "s1", "resume": resume])
      #expect(!management.canResume)
      #expect(management.resumption == nil)
      #expect(management.snapshot() == nil)
    }

    @Test(
      "A session that goes on says what was handled, and sends again what the server has not, but for requests."
    )
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

    @Test("A session that goes on cannot be had with a count of stanzas that never were.")
    func miscounted() throws {
      var management = try StreamManagementTests.management(sent: ["a"])
      #expect(throws: StreamManagement.MiscountError.self) {
        _ = try management.resumed(StreamManagementTests.element("resumed", ["h": "2"]))
      }
    }

    @Test("A session that does not go on leaves open what the server has not counted.")
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

  @Suite("A session that outlives its process")
  struct Restored {
    @Test("A session that outlives its process is as it was, but for the text of what was sent.")
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

    @Test("A session that outlives its process is kept as text; an id that ends a line there is not.")
    func text() throws {
      let ids = ["a", "b\r", "c\nd", "", "é"]
      let snapshot = try #require(try StreamManagementTests.management(sent: ids).snapshot())
      let data = try JSONEncoder().encode(snapshot)
      var restored = try JSONDecoder().decode(StreamManagement.Snapshot.self, from: data)
      #expect(restored.unacknowledged == ["a", "b\r", nil, nil, "é"])
      restored.unacknowledged = snapshot.unacknowledged
      #expect(restored == snapshot)
    }

    @Test("A session that outlives its process has perhaps sent more than anybody remembers.")
    func more() throws {
      let snapshot = try #require(try StreamManagementTests.management(sent: ["a"]).snapshot())
      var restored = StreamManagement(snapshot)
      let outcome = try restored.resumed(StreamManagementTests.element("resumed", ["h": "9"]))
      #expect(outcome.acknowledged.map(\.id) == ["a"] && outcome.lost.isEmpty)
      restored.sent(StreamManagementTests.stanza("message", id: "b"))
      #expect(try restored.acknowledged(StreamManagementTests.element("a", ["h": "10"])).map(\.id) == ["b"])
    }

    @Test("A session that outlives its process is not known to a server that has less than before.")
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
