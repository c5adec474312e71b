import AgentProtocol
import NIOConcurrencyHelpers
import NIOPosix
import Synchronization
import TestSupport
import Testing

@testable import AgentService
@testable import AgentSession

@Suite struct EventHubTests {
  @Test("Subscribers receive the events of their filter in order.")
  func filters() async {
    let hub = EventHub(cursor: 41, now: { "now" })
    let all = hub.subscribe()
    let gaps = hub.subscribe(.init(events: ["gap"]))
    let alice = hub.subscribe(.init(account: "alice@b"))
    #expect(all.cursor == 41)
    hub.publish(account: "alice@b", .gap)
    hub.publish(account: "bob@b", .gap)
    hub.publish(account: "alice@b", .dataReady(code: 0))
    #expect(hub.subscribe().cursor == 44)
    hub.finish()
    func cursors(_ subscription: EventHub.Subscription) async -> [Int64] {
      var cursors: [Int64] = []
      for await event in subscription { cursors.append(event.cursor) }
      return cursors
    }
    #expect(await cursors(all) == [42, 43, 44])
    #expect(await cursors(gaps) == [42, 43])
    #expect(await cursors(alice) == [42, 44])
    #expect(hub.subscribers == 0)
  }

  @Test("The hub has no subscriber left after a thousand subscriptions were cancelled.")
  func leaveNone() async {
    let hub = EventHub(cursor: 0)
    for number in 0..<1000 {
      let subscription = hub.subscribe()
      if number.isMultiple(of: 2) {
        subscription.cancel()
      } else {
        let task = Task { for await _ in subscription {} }
        hub.publish(account: "a@b", .gap)
        task.cancel()
        await task.value
      }
    }
    #expect(hub.subscribers == 0)
  }

  @Test("A reader that is cancelled during the delivery of an event blocks no other reader.")
  func cancelledReaders() async throws {
    let hub = EventHub(cursor: 0)
    let readers = Atomic(0)
    // Threads of its own: where they wait for each other the test goes on, and fails.
    let reading = NIOLockedValueBox<[Task<Void, Never>]>([])
    let threads = NIOThreadPool(numberOfThreads: 2)
    threads.start()
    threads.submit { _ in
      while readers.load(ordering: .relaxed) < 5000 { hub.publish(account: "a@b", .gap) }
    }
    threads.submit { _ in
      for _ in 0..<5000 {
        let events = hub.subscribe(buffer: .max)
        let reader = Task { for await _ in events {} }
        reading.withLockedValue { $0.append(reader) }
        let seen = hub.cursor
        while hub.cursor < seen + 2 {}
        reader.cancel()
        readers.add(1, ordering: .relaxed)
      }
    }
    try await eventually("the last reader", within: .seconds(120)) {
      readers.load(ordering: .relaxed) == 5000
    }
    for reader in reading.withLockedValue({ $0 }) { await reader.value }
    #expect(hub.subscribers == 0)
    try await threads.shutdownGracefully()
  }

  @Test("A subscriber that does not read is cut off, and the others miss no event.")
  func overflow() async {
    let hub = EventHub(cursor: 0)
    let cut = Atomic(0)
    let slow = hub.subscribe(buffer: 10) { cut.add(1, ordering: .relaxed) }
    let other = hub.subscribe(buffer: 100)
    for _ in 0..<50 { hub.publish(account: "a@b", .gap) }
    #expect(cut.load(ordering: .relaxed) == 1)
    #expect(hub.subscribers == 1)
    hub.finish()
    var seen = 0
    for await _ in slow { seen += 1 }
    #expect(seen == 10)
    seen = 0
    for await _ in other { seen += 1 }
    #expect(seen == 50)
  }

  @Test("Events that are published at the same time have different cursors and arrive in order.")
  func concurrent() async {
    let hub = EventHub(cursor: 0)
    let subscription = hub.subscribe(buffer: 2000)
    await withTaskGroup { group in
      for _ in 0..<10 {
        group.addTask { for _ in 0..<100 { hub.publish(account: "a@b", .gap) } }
      }
    }
    hub.finish()
    var cursors: [Int64] = []
    for await event in subscription { cursors.append(event.cursor) }
    #expect(cursors == Array(1...1000))
  }

  private func message(_ cursor: Int64, _ body: String = "x") -> Event {
    Event(
      account: "a@b", time: "t", cursor: cursor,
      body: .message(MessageEvent(from: "b@c", to: "a@b", direction: .in, type: "chat", body: body)))
  }

  @Test(
    "Events with reserved cursors come before those published later, and an empty reservation delays nothing."
  )
  func reservation() async {
    let hub = EventHub(cursor: 0)
    var events = hub.subscribe().makeAsyncIterator()
    let first = hub.reserve(2)
    hub.publish(account: "a@b", .gap)
    let second = hub.reserve(1)
    hub.publish(account: "a@b", .dataReady(code: 0))
    #expect(hub.cursor == 0)
    #expect(hub.subscribe().cursor == 0)
    hub.fulfil(second, with: [])
    #expect(hub.cursor == 0)
    hub.fulfil(first, with: [message(2)])
    var cursors: [Int64] = []
    for _ in 0..<3 { cursors += [await events.next()?.cursor].compactMap(\.self) }
    #expect(cursors == [2, 3, 5])
    #expect(hub.cursor == 5)
  }

  @Test("Stored events are created only for subscribers, and a new subscriber misses none of them.")
  func unwatched() async {
    let hub = EventHub(cursor: 0)
    let made = NIOLockedValueBox(0)
    func fulfil(_ reservation: EventReservation) {
      hub.fulfil(reservation) {
        made.withLockedValue { $0 += 1 }
        return [message(reservation.cursors.lowerBound)]
      }
    }
    fulfil(hub.reserve(2))
    #expect(made.withLockedValue { $0 } == 0 && hub.cursor == 2)
    // Behind another one somebody may come before it is its turn.
    let first = hub.reserve(1)
    fulfil(hub.reserve(1))
    #expect(made.withLockedValue { $0 } == 1 && hub.cursor == 2)
    let subscription = hub.subscribe()
    fulfil(first)
    #expect(made.withLockedValue { $0 } == 2)
    var events = subscription.makeAsyncIterator()
    #expect(await events.next()?.cursor == 3)
    #expect(await events.next()?.cursor == 4)
    #expect(hub.cursor == 4)
  }

  @Test("A subscriber that has caught up has received the events behind a reservation.")
  func caughtUp() async {
    let hub = EventHub(cursor: 0)
    let subscription = hub.subscribe()
    let reservation = hub.reserve(1)
    hub.publish(account: "a@b", .gap)
    let reader = Task { for await event in subscription where event.cursor == 2 { return } }
    async let caughtUp: Void = subscription.caughtUp()
    hub.fulfil(reservation, with: [message(1)])
    await reader.value
    subscription.cancel()
    await caughtUp
  }

  @Test(
    "Messages never overflow the buffer of a subscriber that can read them from the store, but other events do."
  )
  func lag() async {
    let hub = EventHub(cursor: 0)
    let lost = NIOLockedValueBox(0)
    let subscription = hub.subscribe(buffer: 10, readsStore: true) { lost.withLockedValue { $0 += 1 } }
    var events = subscription.makeAsyncIterator()
    for _ in 0..<100 {
      let reservation = hub.reserve(1)
      hub.fulfil(reservation, with: [message(reservation.cursors.lowerBound)])
    }
    #expect(subscription.lags)
    var cursors: [Int64] = []
    var end: Int64?
    while end == nil {
      cursors += [await events.next()?.cursor].compactMap(\.self)
      end = subscription.endLag()
    }
    #expect(cursors == [1, 2, 3, 4, 5])
    #expect(end == 100)
    #expect(!subscription.lags && lost.withLockedValue { $0 } == 0)
    // From now on they come again.
    let reservation = hub.reserve(1)
    hub.fulfil(reservation, with: [message(101)])
    #expect(await events.next()?.cursor == 101)
    for _ in 0..<12 { hub.publish(account: "a@b", .gap) }
    #expect(lost.withLockedValue { $0 } == 1)
  }

  @Test(
    "Long messages are not buffered for a subscriber that reads the store, and other long events only to a limit."
  )
  func octets() async {
    let hub = EventHub(cursor: 0)
    let lost = NIOLockedValueBox(0)
    let subscription = hub.subscribe(readsStore: true) { lost.withLockedValue { $0 += 1 } }
    let long = String(repeating: "x", count: EventHub.maximumKeptOctets / 2)
    for _ in 0..<20 {
      let reservation = hub.reserve(1)
      hub.fulfil(reservation, with: [message(reservation.cursors.lowerBound, long)])
    }
    var events = subscription.makeAsyncIterator()
    var cursors: [Int64] = []
    while !subscription.lags || subscription.endLag() == nil {
      cursors += [await events.next()?.cursor].compactMap(\.self)
    }
    #expect(cursors == [1, 2])
    let presence = PresenceChange(from: "c@d", show: .online, status: long, priority: 0)
    for _ in 0..<EventHub.maximumOctets / long.utf8.count - 1 {
      hub.publish(account: "a@b", .presence(presence))
    }
    #expect(lost.withLockedValue { $0 } == 0)
    // Who reads them is told any number.
    for _ in 0..<20 {
      _ = await events.next()
      hub.publish(account: "a@b", .presence(presence))
    }
    #expect(lost.withLockedValue { $0 } == 0)
    for _ in 0..<3 { hub.publish(account: "a@b", .presence(presence)) }
    #expect(lost.withLockedValue { $0 } == 1)
  }
}
