import AgentProtocol
import GRDB

// What happens to an account is stored before anybody is told of it.

extension Session {
  /// Changes the store, and tells the events that come of it under cursors that were set aside for them.
  ///
  /// - Parameter maximumEvents: cursors that the change may take.
  /// - Returns: the events.
  @discardableResult
  func storeAndTell(
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
}
