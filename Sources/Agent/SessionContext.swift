import AgentProtocol
import AgentStore
import FoundationEssentials
import GRDB
import Logging
import XMPPStanza

/// The objects that all parts of a session use: the account, the stores, the events and the clock.
struct SessionContext: Sendable {
  let account: JID
  let hub: EventHub
  let accounts: AccountStore
  let localStore: LocalStore
  let log: Logger
  let language: String
  let patience: SessionPatience
  let clock: SessionClock
  let refusals = Refusals()

  /// Changes the store, and publishes the resulting events with reserved cursors, so that every event is stored before
  /// it is published.
  ///
  /// - Parameter maximumEvents: The maximum number of events of the change.
  /// - Returns: The events.
  @discardableResult
  func storeAndPublish(
    _ maximumEvents: Int, _ body: @escaping @Sendable (Database, Range<Int64>) throws -> [Event]
  ) async throws(Failure) -> [Event] {
    let reservation = hub.reserve(maximumEvents)
    do throws(Failure) {
      let events = try await localStore.change { try body($0, reservation.cursors) }
      hub.fulfil(reservation, with: events)
      return events
    } catch {
      hub.fulfil(reservation, with: [])
      throw error
    }
  }

  /// RFC 3339: the time in this number of seconds.
  func timestamp(_ seconds: Double = 0) -> String {
    Timestamp.text(Date(timeIntervalSince1970: clock.now() + seconds))
  }
}
