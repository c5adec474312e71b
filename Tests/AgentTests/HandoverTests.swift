import Testing
import XMPPStanza

@testable import Agent
@testable import AgentStore

/// What a stream gets next, and how much of it is in memory.
@Suite struct HandoverTests {
  private func messages(_ numbers: Range<Int>, octets: Int = 10) throws -> [OutboxMessage] {
    let to = try JID("bob@im.example")
    return numbers.map {
      OutboxMessage(id: "\($0)", to: to, body: String(repeating: "x", count: octets), accepted: 5)
    }
  }

  @Test("A stream gets what waits in its order, so many at a time, and more with each that the server has.")
  func order() throws {
    let all = try messages(0..<2 * Handover.maximumInFlight)
    var handover = Handover()
    handover.append(Array(all.prefix(10)))
    #expect(handover.next() == Array(all.prefix(10)))
    #expect(handover.next().isEmpty && handover.hasRoom && !handover.hasReady)
    handover.append(Array(all.dropFirst(10)))
    #expect(handover.next() == Array(all[10..<Handover.maximumInFlight]))
    #expect(handover.next().isEmpty && !handover.hasRoom && handover.hasReady)
    #expect(handover.remove("3") == all[3])
    #expect(handover.remove("3") == nil && !handover.isInFlight("3") && handover.isInFlight("4"))
    #expect(handover.room.messages == 1)
    #expect(handover.next() == [all[Handover.maximumInFlight]])
    #expect(handover.inFlightIDs.count == Handover.maximumInFlight)
    #expect(handover.readyIDs == Set(all[(Handover.maximumInFlight + 1)...].map(\.id)))
  }

  @Test("Large messages are fewer: one that begins within the bound is the last.")
  func octets() throws {
    let large = try messages(0..<20, octets: Handover.maximumOctets / 4 - 1)
    var handover = Handover(ready: large)
    #expect(handover.next().count == 5)
    #expect(handover.next().isEmpty && !handover.hasRoom)
    handover.remove("0")
    #expect(handover.next().map(\.id) == ["5"])
    // One that is larger than all that may be there goes, too.
    handover = Handover(ready: try messages(0..<2, octets: Handover.maximumOctets + 1))
    #expect(handover.next().map(\.id) == ["0"])
    handover.remove("0")
    #expect(handover.next().map(\.id) == ["1"])
    handover.remove("1")
    #expect(handover.room == (Handover.maximumInFlight, Handover.maximumOctets))
  }

  @Test("What has no room waits on the disk, by number and by octets.")
  func waiting() throws {
    var handover = Handover()
    let many = try messages(0..<Handover.maximumReady)
    #expect(handover.hasRoom(for: many))
    handover.append(many)
    #expect(try !handover.hasRoom(for: messages(0..<1)))
    handover = Handover()
    handover.append(try messages(0..<4, octets: Handover.maximumOctets / 4))
    #expect(try !handover.hasRoom(for: messages(4..<5)))
    // In flight, they are no longer in the way.
    _ = handover.next()
    #expect(try handover.hasRoom(for: messages(4..<5)))
  }

  @Test("What a stream has not taken is next again, before everything else.")
  func takenBack() throws {
    let all = try messages(0..<6)
    var handover = Handover(ready: Array(all.prefix(4)))
    let taken = handover.next()
    handover.append(Array(all.suffix(2)))
    handover.takeBack(taken)
    #expect(handover.inFlightIDs.isEmpty)
    #expect(handover.room == (Handover.maximumInFlight, Handover.maximumOctets))
    #expect(handover.next() == all)
  }
}
