import Synchronization
import Testing

@testable import AgentService
@testable import AgentSession

@Suite struct BacklogTests {
  @Test("A waiter continues once everything that was added before it is done.")
  func empty() async {
    let backlog = Backlog()
    await backlog.empty()
    let done = Atomic(0)
    for _ in 0..<3 { backlog.add() }
    let waiting = Task {
      await backlog.empty()
      return done.load(ordering: .sequentiallyConsistent)
    }
    for _ in 0..<3 {
      await Task.yield()
      done.add(1, ordering: .sequentiallyConsistent)
      backlog.done()
    }
    #expect(await waiting.value == 3)
  }

  @Test("An ended subscription does not hold up a waiter.")
  func ended() async {
    let hub = EventHub(cursor: 0)
    let subscription = hub.subscribe(buffer: 2)
    hub.publish(account: "a@b", .gap)
    let waiting = Task { await subscription.caughtUp() }
    // One more than the buffer holds cuts the reader off.
    for _ in 0..<2 { hub.publish(account: "a@b", .gap) }
    await waiting.value
    await subscription.caughtUp()
    #expect(hub.subscribers == 0)
  }
}
