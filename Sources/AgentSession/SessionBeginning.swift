import AgentProtocol
import AgentStore
import NIOConcurrencyHelpers
import XMPPClient

/// The beginning of a session: which parts of the account's data are on their way from the server, and who waits for them.
///
/// Belongs to one bound stream. The parts of the session that bring something into step are handed it with the stream.
final class SessionBeginning: Sendable {
  private struct State {
    var synchronisation = Synchronisation([])
    /// Waits for the parts that are missing.
    var wait: DeliveryWait?
  }

  /// Seconds that a login waits for all of it, and the share of the time that is left to the login.
  private static let longest = (seconds: 15.0, share: 0.8)
  /// Marks the place among a stream's events behind everything that the server sends in answer to the first presence.
  static let mark = "begun"

  let stream: BoundSession
  /// Ends when the first requests and the presence are on their way.
  let greeting = Backlog(of: 1)
  private let context: SessionContext
  private let state = NIOLockedValueBox(State())

  init(_ stream: BoundSession, _ context: SessionContext) {
    self.stream = stream
    self.context = context
  }

  private var synchronisation: Synchronisation { state.withLockedValue { $0.synchronisation } }

  /// How many items there are of a part, and which parts the server has.
  var counts: [SyncPart: Int] { synchronisation.counts }

  /// Says which parts come; none where the session goes on with an earlier one.
  func expect(_ parts: [SyncPart]) { state.withLockedValue { $0.synchronisation = Synchronisation(parts) } }

  func isExpecting(_ part: SyncPart) -> Bool { synchronisation.open.contains(part) }

  /// So many more items of some parts are in the store; none: the server is still sending.
  func add(_ items: [SyncPart: Int] = [:]) {
    if stream.isCurrent { state.withLockedValue { $0.synchronisation.add(items) } }
  }

  /// A part is in the store.
  ///
  /// - Parameter count: how many items it has; nil: the server lacks it.
  func end(_ part: SyncPart, count: Int?) {
    guard stream.isCurrent, state.withLockedValue({ $0.synchronisation.end(part, count) }) else { return }
    let end = SyncedPart(part: part, count: counts[part])
    context.hub.publish(account: context.account.description, .synced(end))
    state.withLockedValue { $0.wait }?.done(part.rawValue)
  }

  /// A part is in the store, of which the items were counted as they came.
  func end(_ part: SyncPart) { end(part, count: counts[part] ?? 0) }

  /// Waits until all parts are in the store: for as long as something comes, and not longer than a login may take.
  ///
  /// - Parameter seconds: what is left to the login; nil: nobody waits for it.
  /// - Returns: the parts that are late. They go on, and their ends are published as those of the others.
  func partsCame(within seconds: Double?) async -> [SyncPart] {
    let limit = min(Self.longest.seconds, (seconds ?? .infinity) * Self.longest.share)
    let end = ContinuousClock.now + .seconds(limit)
    while stream.isCurrent, !synchronisation.isOver {
      let (progress, wait) = state.withLockedValue { state in
        let wait = DeliveryWait(state.synchronisation.open.map(\.rawValue))
        state.wait = wait
        return (state.synchronisation.progress, wait)
      }
      let left = (end - .now) / .seconds(1)
      if left > 0 { await wait.wait(seconds: min(left, context.patience.silence)) }
      state.withLockedValue { $0.wait = nil }
      if left <= 0 || synchronisation.progress == progress { break }
    }
    return stream.isCurrent ? synchronisation.missing : []
  }

  /// The stream has ended: nobody waits any more.
  func end() {
    state.withLockedValue { $0.wait }?.end()
    greeting.end()
  }
}
