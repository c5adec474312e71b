import AgentProtocol

extension AccountCommandOptions {
  /// Sends a request to the agent and returns its answer, within the command's time limit.
  ///
  /// - Parameter deadline: The end of the time limit, if an earlier step has already used a part of it.
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

  /// The JIDs of the recipients that the words of the command name.
  func recipients(_ words: [String], until deadline: Deadline) throws -> [String] {
    try RecipientNames.resolve(words, account: account.account, until: deadline)
  }

  /// Carries out changes one after the other, within the deadline. With `--json`, prints each result.
  ///
  /// - Parameters:
  ///   - account: The parameter with the account; `timeout` is the parameter with the remaining time.
  ///   - note: The text to print for a result.
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
