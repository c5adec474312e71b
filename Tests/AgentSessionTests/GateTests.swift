import Testing

@testable import AgentSession

@MainActor @Suite("Gates and turns of a session")
struct GateTests {
  @Test("Callers wait at a closed gate and continue when it opens.")
  func gate() async {
    let gate = Gate()
    await gate.pass()
    gate.close()
    var passed = 0
    let waiters = (1...3).map { _ in
      Task {
        await gate.pass()
        passed += 1
      }
    }
    for _ in 0..<10 { await Task.yield() }
    #expect(passed == 0)
    gate.open()
    for waiter in waiters { await waiter.value }
    #expect(passed == 3)
    #expect(!gate.isClosed)
    await gate.pass()
  }

  @Test("Callers get their turns one at a time, in the order of their arrival.")
  func turns() async {
    let turns = Turns()
    var events: [String] = []
    await turns.begin()
    let waiters = (1...3).map { number in
      Task {
        await turns.begin()
        events.append("begin \(number)")
        await Task.yield()
        events.append("end \(number)")
        turns.end()
      }
    }
    for _ in 0..<10 { await Task.yield() }
    #expect(events == [])
    #expect(turns.isTaken)
    turns.end()
    for waiter in waiters { await waiter.value }
    #expect(events == (1...3).flatMap { ["begin \($0)", "end \($0)"] })
    #expect(!turns.isTaken)
  }
}
