import AgentProtocol
import Glibc

/// A running agent that no account and no client needs.
enum IdleAgent {
  /// Ends such an agent, so that this process can be the agent. A busy agent is left alone.
  static func stop(until deadline: Deadline) throws {
    // The agent may still count the connection of a command that has just ended.
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
  /// Whether the session is neither online nor connecting.
  fileprivate var isAtRest: Bool { [.offline, .linkFailed, .loginFailed, .kicked].contains(state) }
}
