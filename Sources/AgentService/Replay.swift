import AgentProtocol
import AgentStore

/// Reads a watcher's missed events from the store, in order and each once.
struct Replay {
  private let store: LocalStore
  private let filter: EventHub.Filter
  /// The cursor up to which the watcher has received events.
  private var told: Int64

  init(store: LocalStore, _ filter: EventHub.Filter, after cursor: Int64) {
    self.store = store
    self.filter = filter
    told = cursor
  }

  /// Goes back to `cursor`; returns the event `gap` where later events cannot be replayed any more.
  mutating func begin(since cursor: Int64, until last: Int64) async throws(Failure) -> [Event] {
    let (start, isWhole) = try await store.replayStart(
      since: cursor, until: last, account: filter.account, names: filter.storedNames)
    told = start
    return isWhole
      ? [] : [Event(account: filter.account ?? "", time: Timestamp.now(), cursor: start, body: .gap)]
  }

  mutating func told(_ cursor: Int64) { told = max(told, cursor) }

  /// The next events up to `last`; nil when there are no more.
  mutating func next(until last: Int64) async throws(Failure) -> [Event]? {
    while told < last {
      let (events, through) = try await store.replay(
        after: told, until: last, account: filter.account, names: filter.storedNames)
      told = through
      if !events.isEmpty { return events }
    }
    return nil
  }
}
