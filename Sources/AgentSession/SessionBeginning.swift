import AgentProtocol
import AgentStore
import NIOConcurrencyHelpers
import XMPPClient

/// The beginning of a session: the parts of the account's data that the server still has to send, and the task that
/// waits for them.
///
/// It belongs to one bound stream. The parts of the session that synchronise data receive it together with the stream.
final class SessionBeginning: Sendable {
  private struct State {
    var synchronisation = Synchronisation([])
    /// The wait for the open parts.
    var wait: DeliveryWait?
  }

  /// The maximum seconds for which a login waits for all parts, and the maximum share of its remaining time.
  private static let longest = (seconds: 15.0, share: 0.8)
  /// The mark in a stream's events after everything that the server sends in answer to the first presence.
  static let mark = "begun"

  let stream: BoundSession
  /// Ends when the first requests and the presence have been sent.
  let greeting = Backlog(of: 1)
  private let context: SessionContext
  private let state = NIOLockedValueBox(State())

  init(_ stream: BoundSession, _ context: SessionContext) {
    self.stream = stream
    self.context = context
  }

  private var synchronisation: Synchronisation { state.withLockedValue { $0.synchronisation } }

  /// The number of items of each part that the server has.
  var counts: [SyncPart: Int] { synchronisation.counts }

  /// Sets the expected parts; none if the session was resumed.
  func expect(_ parts: [SyncPart]) { state.withLockedValue { $0.synchronisation = Synchronisation(parts) } }

  func isExpecting(_ part: SyncPart) -> Bool { synchronisation.open.contains(part) }

  /// Counts further items in the store. An empty count reports that the server is still sending.
  func add(_ items: [SyncPart: Int] = [:]) {
    if stream.isCurrent { state.withLockedValue { $0.synchronisation.add(items) } }
  }

  /// A part is in the store.
  ///
  /// - Parameter count: The number of its items; nil if the server lacks the part.
  func end(_ part: SyncPart, count: Int?) {
    guard stream.isCurrent, state.withLockedValue({ $0.synchronisation.end(part, count) }) else { return }
    let end = SyncedPart(part: part, count: counts[part])
    context.hub.publish(account: context.account.description, .synced(end))
    state.withLockedValue { $0.wait }?.done(part.rawValue)
  }

  /// A part is in the store, and its items were counted as they arrived.
  func end(_ part: SyncPart) { end(part, count: counts[part] ?? 0) }

  /// Waits until all parts are in the store, as long as the server makes progress, and within the login's time limit.
  ///
  /// - Parameter seconds: The remaining seconds of the login; nil: no command waits for it.
  /// - Returns: The late parts. Their synchronisation continues, and its end is published as usual.
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

  /// The stream has ended, and so do all waits.
  func end() {
    state.withLockedValue { $0.wait }?.end()
    greeting.end()
  }
}
