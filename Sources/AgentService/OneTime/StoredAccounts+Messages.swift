import AgentProtocol
import AgentStore

// The commands that read stored messages. An account that is not stored, as after an anonymous login, is found by its
// messages.

extension StoredAccounts {
  /// Reads messages from the history; passes each one on as soon as it is read.
  func readHistory(_ parameters: HistoryReadMethod.Parameters, _ body: (Event) throws -> Void) throws {
    var query = HistoryQuery(account: try name(parameters.account))
    query.peer = try parameters.with.map { try peer($0, of: query.account) }
    query.thread = parameters.thread
    query.words = parameters.words
    query.isFolded = parameters.isFolded
    query.limit = parameters.limit ?? .max
    query.before = parameters.before
    query.after = parameters.after
    let history = try LocalHistory(path: paths.database)
    var isEmpty = true
    try history?.read(query, newestFirst: parameters.newestFirst) { event in
      try Task.checkCancellation()
      isEmpty = false
      try body(event)
    }
    guard isEmpty, parameters.account != nil else { return }
    var isKnown = false
    try history?.read(HistoryQuery(account: query.account, limit: 1)) { _ in isKnown = true }
    if !isKnown { _ = try load().account(query.account) }
  }

  func threads(_ parameters: ThreadsListMethod.Parameters) throws -> [MessageThread] {
    let account = try name(parameters.account)
    let threads = try StoredThreads.list(
      account, with: parameters.with.map { try peer($0, of: account) }, limit: parameters.limit ?? .max,
      at: paths.database)
    if threads.isEmpty, parameters.account != nil { _ = try load().account(account) }
    return threads
  }

  func conversations(_ parameters: ConversationsListMethod.Parameters) throws(Failure) -> [Conversation] {
    let account = try name(parameters.account)
    let conversations = try StoredConversations.list(account, at: paths.database)
    if conversations.isEmpty, parameters.account != nil { _ = try load().account(account) }
    return parameters.unread ? conversations.filter { $0.unread > 0 } : conversations
  }

  private func peer(_ word: String, of account: String) throws -> String {
    try HistoryQuery.peer(resolve([word], account: account)[0], of: account)
  }
}
