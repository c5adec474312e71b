import AgentProtocol
import AgentStore
import FoundationEssentials
import GRDB
import Logging
import XMPPStanza

/// The objects that all parts of a session use: the account, the stores, the events and the clock.
struct SessionContext: Sendable {
  let account: JID
  let resources: SessionResources
  let refusals = Refusals()

  var hub: any EventPublisher { resources.hub }
  var accounts: AccountStore { resources.accounts }
  var localStore: LocalStore { resources.localStore }
  var log: Logger { resources.log }
  var language: String { resources.language }
  var patience: SessionPatience { resources.patience }
  var clock: SessionClock { resources.clock }

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

  /// As ``storeAndPublish(_:_:)``; a failure of the store is logged.
  ///
  /// - Parameter what: what is not stored then, for the log.
  /// - Returns: whether the change is stored.
  @discardableResult
  func storeAndPublish(
    _ what: Logger.Message, _ maximumEvents: Int,
    _ body: @escaping @Sendable (Database, Range<Int64>) throws -> [Event]
  ) async -> Bool {
    do throws(Failure) {
      try await storeAndPublish(maximumEvents, body)
      return true
    } catch {
      report(what, error)
      return false
    }
  }

  /// Logs a failure that only the account's user could do something about.
  func report(_ what: Logger.Message, _ failure: Failure) {
    log.error(what, metadata: ["account": "\(account)", "failure": "\(failure.message)"])
  }

  /// RFC 3339: the time in this number of seconds.
  func timestamp(_ seconds: Double = 0) -> String {
    Timestamp.text(Date(timeIntervalSince1970: clock.now() + seconds))
  }
}
