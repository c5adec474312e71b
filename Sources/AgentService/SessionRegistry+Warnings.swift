import AgentProtocol
import AgentSession
import AgentStore
import AgentSystem

// Warnings about problems of the agent itself, shown with the state of its accounts.

extension SessionRegistry {
  /// The current problems of the agent; nil where there are none.
  func warnings() async -> [Failure]? {
    if localStore.condition.obstacle != nil {
      // A flush finds out whether the problem has gone, even if nothing was written since.
      try? await localStore.flush()
    }
    var count = 0
    for session in sessions.values where await session.isBusy { count += 1 }
    let failures =
      [onDisk.failure, DescriptorLimit.failure(for: count)].compactMap(\.self) + localStore.condition.failures
    return failures.isEmpty ? nil : failures
  }

  /// Publishes news about the local store for every account.
  func storeChanged(_ news: StoreNews) {
    let accounts = Set(sessions.keys.map(\.description)).union(news.lost.keys)
    for account in accounts.sorted() {
      hub.publish(account: account, .store(StoreChange(cause: news.cause, lost: news.lost[account])))
    }
  }

  /// Adds warnings and queued messages to the state of sessions.
  func completed(_ answer: [SessionStatus]) async throws(Failure) -> [SessionStatus] {
    let warnings = await warnings()
    return try await localStore.countQueued(answer).map { status in
      var status = status
      status.warnings = warnings
      return status
    }
  }
}
