import AgentProtocol
import Glibc

/// An agent that runs though nobody needs it.
enum IdleAgent {
  /// Ends it, so that this process can be the agent. One that is busy is left alone, and no agent is fine.
  static func stop(until deadline: Deadline) throws {
    // The connection of a command that has just ended may still count.
    for _ in 0..<20 {
      let isDone = try AgentClient.session(start: .never, until: deadline) { agent in
        guard let state = try agent.greet() else { return false }
        let sessions = try agent.answer(to: agent.send(StatusMethod.self, .init(account: nil, all: true)))
        guard state.online == 0, sessions.allSatisfy(\.isAtRest) else { return true }
        if state.clients > 1 { return false }
        try agent.stop(until: deadline)
        return true
      }
      if isDone ?? true { return }
      usleep(20_000)
    }
  }
}

extension SessionStatus {
  /// Neither online nor about to be.
  fileprivate var isAtRest: Bool { [.offline, .linkFailed, .loginFailed, .kicked].contains(state) }
}
