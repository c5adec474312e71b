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

  /// Whom the words mean that the command names recipients by.
  func recipients(_ words: [String], until deadline: Deadline) throws -> [String] {
    try RecipientNames.resolve(words, account: account.account, until: deadline)
  }

  /// Carries changes out, one after the other, all within the deadline; with `--json` each result is told.
  ///
  /// - Parameters:
  ///   - account: where the parameters name the account, and `timeout` what is left of the bound.
  ///   - note: what there is to say of a result.
  func carryOut<Method: AgentMethod>(
    _ method: Method.Type, _ changes: [Method.Parameters],
    account: WritableKeyPath<Method.Parameters, String?>, timeout: WritableKeyPath<Method.Parameters, Double>,
    until deadline: Deadline,
    note: (Method.Parameters, Method.Result) -> String?
  ) throws where Method.Result: Encodable {
    try AgentClient.session(start: .whenNoneRuns, until: deadline.ofAgent) { agent in
      for var change in changes {
        if deadline.isOver { throw Failure.timedOut(.usage(.server)) }
        change[keyPath: account] = self.account.account
        change[keyPath: timeout] = deadline.secondsLeft ?? 0
        let result = try agent.answer(to: agent.send(method, change))
        if output.json { try output.data(result, text: "") }
        if let note = note(change, result) { output.note(note) }
      }
    }
  }
}
