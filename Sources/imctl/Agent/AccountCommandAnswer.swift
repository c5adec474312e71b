import AgentProtocol

extension AccountCommandOptions {
  /// The agent's answer, within the bound of the command.
  ///
  /// - Parameter deadline: when that ends, where something else has taken its time before.
  func answer<Method: AgentMethod>(
    to method: Method.Type, until deadline: Deadline? = nil,
    _ parameters: (_ timeout: Double) -> Method.Parameters
  ) throws -> Method.Result {
    let deadline = deadline ?? Deadline(timeout)
    let answer = try AgentClient.session(start: .whenNoneRuns, until: deadline.ofAgent) { agent in
      try agent.answer(to: agent.send(method, parameters(deadline.secondsLeft ?? 0)))
    }
    guard let answer else { throw Failure.noAnswer }
    return answer
  }
}
