import AgentProtocol

/// The agent's event hub as a session uses it: a session publishes events and never reads them.
package protocol EventPublisher: Sendable {
  /// Assigns a time and a cursor to the event and delivers it.
  @discardableResult
  func publish(account: String, _ body: Event.Body) -> Event

  /// Reserves cursors. Every reservation must be fulfilled, with or without events.
  func reserve(_ count: Int) -> EventReservation

  /// Delivers the events of a reservation and those that have waited behind it.
  func fulfil(_ reservation: EventReservation, with events: [Event])

  /// Fulfils a reservation with stored events, which are created only if somebody reads them.
  func fulfil(_ reservation: EventReservation, making events: () -> [Event])
}

/// Cursors reserved for events that have to be stored before they are delivered. Later events wait behind them, so that
/// a reader who has seen a cursor has seen all earlier ones.
package struct EventReservation: Sendable {
  package let id: UInt64
  /// The cursors, one for each event.
  package let cursors: Range<Int64>

  package init(id: UInt64, cursors: Range<Int64>) {
    self.id = id
    self.cursors = cursors
  }
}
