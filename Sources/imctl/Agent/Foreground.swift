import Agent
import AgentProtocol
import Dispatch
import Glibc

/// Where this process is the agent itself: the only way from a command into the rooms below.
enum Foreground {
  /// `agent run`.
  static func agent() throws -> Never { throw Failure(.internalError, stage: .request, detail: "agent run") }

  /// `login --foreground`.
  static func login(_ parameters: LoginMethod.Parameters) throws -> Never {
    throw Failure(.internalError, stage: .request, detail: "login --foreground")
  }
}
