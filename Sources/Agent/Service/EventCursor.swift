import AgentProtocol
import AgentStore
import NIOConcurrencyHelpers

/// Event cursors that go on growing over restarts, with one write to the store for many events.
package final class EventCursor: Sendable {
  /// Cursors set aside at a time.
  static let block: Int64 = 1 << 20

  private let store: LocalStore
  /// Up to where cursors are set aside, and whether more are being.
  private let reserved: NIOLockedValueBox<(limit: Int64, busy: Bool)>
  /// The first event's cursor is greater.
  package let start: Int64

  /// Blocks on the disk.
  package init(store: LocalStore) throws(Failure) {
    self.store = store
    start = try store.reserveCursors(Self.block)
    reserved = NIOLockedValueBox((start &+ Self.block, false))
  }

  /// Sets the next block aside, in the background, when half of this one is used. Returns at once.
  package func used(_ cursor: Int64) {
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

  /// The hub that gives these cursors to its events.
  package func hub() -> EventHub { EventHub(cursor: start, used: { [self] in used($0) }) }
}
