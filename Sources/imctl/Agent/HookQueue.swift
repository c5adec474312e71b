import AgentProtocol

/// Events that wait for a command which is run for one after the other: pure, and bounded.
struct HookQueue {
  static let limit = 1000
  /// Octets of events. One that begins below is the last one.
  static let maximumOctets = 32 << 20

  private var waiting: [Event] = []
  private var octets = 0
  private let limit: Int

  init(limit: Int = limit) { self.limit = limit }

  var count: Int { waiting.count }

  /// Adds an event. Where there is no room for it a `gap` stands for it and for all that follow until there is.
  ///
  /// - Returns: false for the first event that was left out.
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

  /// The oldest event.
  mutating func popFirst() -> Event? {
    if waiting.isEmpty { return nil }
    let event = waiting.removeFirst()
    octets -= event.octets
    return event
  }
}
