import AgentProtocol

/// A bounded queue of events for a command that runs once for each event.
struct HookQueue {
  static let limit = 1000
  /// The maximum size of the events in octets, which the last event may exceed.
  static let maximumOctets = 32 << 20

  private var waiting: [Event] = []
  private var octets = 0
  private let limit: Int

  init(limit: Int = limit) { self.limit = limit }

  var count: Int { waiting.count }

  /// Adds an event. If the queue is full, a `gap` replaces this event and all that follow until there is space.
  ///
  /// - Returns: False for the first event that was dropped.
  mutating func add(_ event: Event) -> Bool {
    if waiting.count < limit, octets < Self.maximumOctets {
      waiting.append(event)
      octets += event.octets
      return true
    }
    let gap = Event(account: event.account, time: event.time, cursor: event.cursor, body: .gap)
    let isNew = waiting.last?.body != .gap
    if isNew { waiting.append(gap) } else { waiting[waiting.count - 1] = gap }
    return !isNew
  }

  /// Removes and returns the oldest event.
  mutating func popFirst() -> Event? {
    if waiting.isEmpty { return nil }
    let event = waiting.removeFirst()
    octets -= event.octets
    return event
  }
}
