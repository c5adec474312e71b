import AgentProtocol

/// Resolves the words by which a command names recipients: names of contacts and rooms become JIDs.
enum RecipientNames {
  /// The JIDs in the order of the words. Words that are JIDs need no agent.
  ///
  /// - Parameter asksAgent: Whether to start an agent if none runs; otherwise, the local store is read.
  static func resolve(
    _ words: [String], account: String?, asksAgent: Bool = true, until deadline: Deadline
  ) throws -> [String] {
    let known = words.map(RecipientsResolveMethod.jid)
    let unknown = zip(words, known).filter { $1 == nil }.map(\.0)
    if unknown.isEmpty { return known.compactMap(\.self) }
    var found = (try asksAgent ? ask(unknown, account, until: deadline) : nil)?[...]
    if found == nil { found = try stored(unknown, account, until: deadline)[...] }
    guard found?.count == unknown.count else { throw Failure.noAgentSpeaks }
    return known.map { $0 ?? found?.popFirst() ?? "" }
  }

  /// Resolves words with the local store.
  private static func stored(_ words: [String], _ account: String?, until deadline: Deadline) throws
    -> [String]
  {
    try OneTimeAgent.ask(
      RecipientsResolveMethod.self, .init(account: account, words: words), until: deadline)
  }

  private static func ask(_ words: [String], _ account: String?, until deadline: Deadline) throws -> [String]?
  {
    try AgentClient.session(start: .whenNoneRuns, until: deadline) { agent in
      let size = RecipientsResolveMethod.maximumWords
      return try stride(from: 0, to: words.count, by: size).flatMap { start in
        try agent.answer(
          to: agent.send(
            RecipientsResolveMethod.self,
            .init(account: account, words: Array(words[start...].prefix(size)))))
      }
    }
  }
}
