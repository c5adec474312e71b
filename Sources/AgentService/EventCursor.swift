import AgentProtocol
import AgentStore
import NIOConcurrencyHelpers

/// Assigns event cursors that increase across restarts, with one write to the store for many events.
final class EventCursor: Sendable {
  /// The number of cursors reserved at a time.
  static let block: Int64 = 1 << 20

  private let store: LocalStore
  /// The end of the reserved cursors, and whether a reservation is under way.
  private let reserved: NIOLockedValueBox<(limit: Int64, busy: Bool)>
  /// The first event's cursor is greater than this one.
  let start: Int64

  /// Blocks for disk access.
  init(store: LocalStore) throws(Failure) {
    self.store = store
    start = try store.reserveCursors(Self.block)
    reserved = NIOLockedValueBox((start &+ Self.block, false))
  }

  /// Reserves the next block in the background when half of the current one is used. Returns at once.
  func used(_ cursor: Int64) {
    let due = reserved.withLockedValue { reserved in
      guard !reserved.busy, reserved.limit &- cursor < Self.block / 2 else { return false }
      reserved.busy = true
      return true
    }
    guard due else { return }
    Task {
      let more =
        (try? await store.inBackground { store throws(Failure) in try store.reserveCursors(Self.block) })
        != nil
      reserved.withLockedValue { reserved in
        if more { reserved.limit &+= Self.block }
        reserved.busy = false
      }
    }
  }

  /// The hub that assigns these cursors to its events.
  func hub() -> EventHub { EventHub(cursor: start, used: { [self] in used($0) }) }
}
