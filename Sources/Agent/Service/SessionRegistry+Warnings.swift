import AgentProtocol
import AgentStore
import AgentSystem

// What keeps the agent from working as it should, for whoever looks at its accounts.

extension SessionRegistry {
  /// What keeps the agent from working as it should; nil: nothing.
  func warnings() async -> [Failure]? {
    if localStore.condition.obstacle != nil {
      // Nobody may have tried to write since it has gone.
      try? await localStore.flush()
    }
    var count = 0
    for session in sessions.values where await session.isBusy { count += 1 }
    let failures =
      [onDisk.failure, DescriptorLimit.failure(for: count)].compactMap(\.self) + localStore.condition.failures
    return failures.isEmpty ? nil : failures
  }

  /// Who watches an account is told what is new of the local store.
  func storeChanged(_ news: StoreNews) {
    let accounts = Set(sessions.keys.map(\.description)).union(news.lost.keys)
    for account in accounts.sorted() {
      hub.publish(account: account, .store(StoreChange(cause: news.cause, lost: news.lost[account])))
    }
  }

  /// With what is to be told beside the sessions' own state.
  func completed(_ answer: [SessionStatus]) async throws(Failure) -> [SessionStatus] {
    let warnings = await warnings()
    return try await localStore.countQueued(answer).map { status in
      var status = status
      status.warnings = warnings
      return status
    }
  }
}
