import AgentProtocol
import Testing

@testable import imctl

@Suite struct HookQueueTests {
  private func event(_ cursor: Int64) -> Event {
    Event(account: "a@example.org", time: "t", cursor: cursor, body: .dataReady(code: 0))
  }

  @Test("Events leave the queue in the order in which they were added.")
  func order() {
    var queue = HookQueue(limit: 3)
    let isAdded = (1...3).map { queue.add(event($0)) }
    #expect(isAdded == [true, true, true])
    let cursors = (1...4).map { _ in queue.popFirst()?.cursor }
    #expect(cursors == [1, 2, 3, nil])
  }

  @Test(
    "Events that do not fit are replaced by one gap, which has the cursor of the last omitted event.")
  func gap() {
    var queue = HookQueue(limit: 2)
    let isAdded = (1...5).map { queue.add(event($0)) }
    #expect(isAdded == [true, true, false, true, true])
    #expect(queue.count == 3)
    let before = [queue.popFirst(), queue.popFirst()]
    #expect(before.map { $0?.cursor } == [1, 2])
    let hasRoom = queue.add(event(6))
    #expect(hasRoom)
    let gap = queue.popFirst()
    #expect(gap?.body == .gap)
    #expect(gap?.cursor == 5)
    #expect(gap?.account == "a@example.org")
    let last = queue.popFirst()
    #expect(last?.cursor == 6)
    // The next one is told again.
    let isAddedLater = (7...9).map { queue.add(event($0)) }
    #expect(isAddedLater == [true, true, false])
  }

  @Test("The queue has room for fewer events if they are long.")
  func octets() {
    let status = String(repeating: "x", count: HookQueue.maximumOctets / 2)
    let long = Event(
      account: "a@example.org", time: "t", cursor: 1,
      body: .presence(PresenceChange(from: "b@c", show: .online, status: status, priority: 0)))
    var queue = HookQueue()
    let isAdded = (1...3).map { _ in queue.add(long) }
    #expect(isAdded == [true, true, false])
    _ = queue.popFirst()
    let hasRoom = [queue.add(long), queue.add(event(2))]
    #expect(hasRoom == [true, false])
  }
}
