import AgentProtocol
import TestSupport
import Testing

@Suite("The life cycle of a session") struct SessionLifecycleTests {
  private typealias Life = SessionLifecycle

  @Test("Random events reach every state along every transition, and along no other.")
  func random() {
    var states: Set<SessionState> = []
    var walked: Set<Life.Transition> = []
    let known = Set(Life.transitions)
    for seed in 0..<20_000 {
      var generator = SeededGenerator(seed: UInt64(seed))
      var life = SessionLifecycle()
      var isAuthenticating = false
      for _ in 0..<60 {
        let event = Life.Event.allCases.randomElement(using: &generator) ?? .leave
        let before = life
        guard life.handle(event) else {
          if life != before { Issue.record("\(before.state) \(event)") }
          continue
        }
        let arrow = Life.Transition(from: before.state, event: event, to: life.state)
        if !known.contains(arrow) { Issue.record("\(arrow)") }
        walked.insert(arrow)
        states.insert(life.state)
        // A resource is bound only by a login that began after the last connection was made.
        switch event {
        case .authenticate: isAuthenticating = true
        case .bound: if !isAuthenticating { Issue.record("\(arrow)") }
        default: isAuthenticating = false
        }
      }
    }
    #expect(states == Set(SessionState.allCases))
    #expect(walked == known)
  }

  @Test("A full login passes its six states in order, and none of them can be skipped.")
  func fullLogin() {
    let steps: [Life.Event] = [.connect, .connected, .authenticate, .bound, .synchronise, .synchronised]
    var life = SessionLifecycle()
    var passed: [SessionState] = []
    for step in steps {
      let isDone = life.handle(step)
      #expect(isDone)
      passed.append(life.state)
    }
    #expect(passed == [.linking, .linkOK, .logining, .loginOK, .syncing, .syncOK])
    for (index, step) in steps.enumerated().dropFirst() {
      for earlier in passed.prefix(index - 1) {
        var early = SessionLifecycle(earlier)
        let isDone = early.handle(step)
        #expect(!isDone, "\(earlier) \(step)")
      }
    }
  }

  @Test(
    "A logout leads from every state to offline, and a login leads to linking.",
    arguments: SessionState.allCases)
  func ways(state: SessionState) {
    var leaving = SessionLifecycle(state)
    let isDone = leaving.handle(.leave)
    #expect(isDone == (state != .offline))
    #expect(leaving.state == .offline)
    #expect(SessionLifecycle.state(after: .connect, in: state) == .linking)
  }

  @Test("At most one event leads from one state to another, so a state change shows its event.")
  func unique() {
    let pairs = Life.transitions.map { [$0.from, $0.to] }
    #expect(Set(pairs).count == pairs.count)
    for arrow in Life.transitions {
      #expect(Life.event(from: arrow.from, to: arrow.to) == arrow.event)
    }
    #expect(Life.event(from: .offline, to: .syncOK) == nil)
    #expect(Life.event(from: .waiting, to: .kicked) == nil)
  }

  @Test("The Graphviz diagram has every transition of the life cycle.")
  func dot() {
    let lines = Life.dot.split(separator: "\n")
    #expect(lines.first == "digraph session {" && lines.last == "}")
    for arrow in Life.transitions {
      #expect(lines.contains("  \(arrow.from) -> \(arrow.to) [label=\"\(arrow.event)\"];"))
    }
    #expect(lines.count { $0.contains(" -> ") } == Life.transitions.count)
  }
}
