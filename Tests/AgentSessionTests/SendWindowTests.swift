import Testing
import XMPPStanza

@testable import AgentSession
@testable import AgentStore

/// What a stream gets next, and how much of it is in memory.
@Suite struct SendWindowTests {
  private func messages(_ numbers: Range<Int>, octets: Int = 10) throws -> [OutboxMessage] {
    let to = try JID("bob@im.example")
    return numbers.map {
      OutboxMessage(id: "\($0)", to: to, body: String(repeating: "x", count: octets), accepted: 5)
    }
  }

  @Test("A stream gets waiting messages in order, up to a limit, and one more for each acknowledged message.")
  func order() throws {
    let all = try messages(0..<2 * SendWindow.maximumInFlight)
    var window = SendWindow()
    window.append(Array(all.prefix(10)))
    #expect(window.next() == Array(all.prefix(10)))
    #expect(window.next().isEmpty && window.hasRoom && !window.hasReady)
    window.append(Array(all.dropFirst(10)))
    #expect(window.next() == Array(all[10..<SendWindow.maximumInFlight]))
    #expect(window.next().isEmpty && !window.hasRoom && window.hasReady)
    #expect(window.remove("3") == all[3])
    #expect(window.remove("3") == nil && !window.isInFlight("3") && window.isInFlight("4"))
    #expect(window.room.messages == 1)
    #expect(window.next() == [all[SendWindow.maximumInFlight]])
    #expect(window.inFlightIDs.count == SendWindow.maximumInFlight)
    #expect(window.readyIDs == Set(all[(SendWindow.maximumInFlight + 1)...].map(\.id)))
  }

  @Test("The window has room for fewer messages if they are large, and the last one may exceed its limit.")
  func octets() throws {
    let large = try messages(0..<20, octets: SendWindow.maximumOctets / 4 - 1)
    var window = SendWindow(ready: large)
    #expect(window.next().count == 5)
    #expect(window.next().isEmpty && !window.hasRoom)
    window.remove("0")
    #expect(window.next().map(\.id) == ["5"])
    // One that is larger than all that may be there goes, too.
    window = SendWindow(ready: try messages(0..<2, octets: SendWindow.maximumOctets + 1))
    #expect(window.next().map(\.id) == ["0"])
    window.remove("0")
    #expect(window.next().map(\.id) == ["1"])
    window.remove("1")
    #expect(window.room == (SendWindow.maximumInFlight, SendWindow.maximumOctets))
  }

  @Test("Messages that exceed the window by number or size stay on disk.")
  func waiting() throws {
    var window = SendWindow()
    let many = try messages(0..<SendWindow.maximumReady)
    #expect(window.hasRoom(for: many))
    window.append(many)
    #expect(try !window.hasRoom(for: messages(0..<1)))
    window = SendWindow()
    window.append(try messages(0..<4, octets: SendWindow.maximumOctets / 4))
    #expect(try !window.hasRoom(for: messages(4..<5)))
    // In flight, they are no longer in the way.
    _ = window.next()
    #expect(try window.hasRoom(for: messages(4..<5)))
  }

  @Test("Messages that a stream has not taken are the next to be sent.")
  func takenBack() throws {
    let all = try messages(0..<6)
    var window = SendWindow(ready: Array(all.prefix(4)))
    let taken = window.next()
    window.append(Array(all.suffix(2)))
    window.requeue(taken)
    #expect(window.inFlightIDs.isEmpty)
    #expect(window.room == (SendWindow.maximumInFlight, SendWindow.maximumOctets))
    #expect(window.next() == all)
  }
}
