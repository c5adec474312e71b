import Testing

@testable import AgentService

@Suite struct IdleExitTests {
  private let start = ContinuousClock.now

  @Test("A new agent waits less than five seconds for the command that started it.")
  func grace() {
    var idle = IdleExit(started: start)
    #expect(idle.deadline == start + IdleExit.grace)
    #expect(IdleExit.grace < .seconds(5))
    idle.update(clients: 1, at: start + .seconds(1))
    #expect(idle.deadline == nil)
    idle.update(clients: 0, at: start + .seconds(2))
    #expect(idle.deadline == start + IdleExit.grace)
  }

  @Test("An account or a client keeps the agent running, and it ends within five seconds after the last one.")
  func linger() {
    var idle = IdleExit(started: start)
    idle.update(clients: 1, accounts: 1, at: start + .seconds(1))
    idle.update(clients: 0, at: start + .seconds(100))
    #expect(idle.deadline == nil)
    idle.update(clients: 1, at: start + .seconds(200))
    idle.update(accounts: 0, at: start + .seconds(201))
    #expect(idle.deadline == nil)
    idle.update(clients: 0, at: start + .seconds(202))
    #expect(idle.deadline == start + .seconds(202) + IdleExit.linger)
    #expect(IdleExit.linger < .seconds(5))
    // Being told the same again does not put it off.
    idle.update(clients: 0, accounts: 0, at: start + .seconds(203))
    #expect(idle.deadline == start + .seconds(202) + IdleExit.linger)
  }
}
