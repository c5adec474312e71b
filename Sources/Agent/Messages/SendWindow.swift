import AgentStore

/// The messages of an outbox that its stream gets next, and those that it has got and that the server is not known to
/// have.
///
/// Pure. Of both, there are no more in memory than a number of messages and of octets: the others wait on the disk.
struct SendWindow {
  /// Messages that the server may have to acknowledge at a time.
  static let maximumInFlight = 2000
  static let maximumReady = 4096
  /// Octets of text of either. A message that begins below is the last one.
  static let maximumOctets = 8 << 20

  /// Oldest first.
  private var ready: [OutboxMessage]
  private var readyOctets: Int
  private var inFlight: [String: OutboxMessage] = [:]
  private var inFlightOctets = 0

  /// - Parameter ready: what is to be handed over before all others, however much it is.
  init(ready: [OutboxMessage] = []) {
    self.ready = ready
    readyOctets = Self.octets(ready)
  }

  var hasReady: Bool { !ready.isEmpty }
  var readyIDs: Set<String> { Set(ready.map(\.id)) }
  var inFlightIDs: Set<String> { Set(inFlight.keys) }
  func isInFlight(_ id: String) -> Bool { inFlight[id] != nil }

  /// The stream may get more.
  var hasRoom: Bool { room.messages > 0 && room.octets > 0 }
  /// How much more it may get.
  var room: (messages: Int, octets: Int) {
    (Self.maximumInFlight - inFlight.count, Self.maximumOctets - inFlightOctets)
  }

  /// Whether these may wait for their turn here.
  func hasRoom(for messages: [OutboxMessage]) -> Bool {
    ready.count + messages.count <= Self.maximumReady && readyOctets < Self.maximumOctets
  }

  /// They are the turn of the stream when those before them were.
  mutating func append(_ messages: [OutboxMessage]) {
    ready += messages
    readyOctets += Self.octets(messages)
  }

  /// What the stream gets now: it is in flight from here on.
  mutating func next() -> [OutboxMessage] {
    var count = 0
    while count < ready.count, hasRoom {
      let message = ready[count]
      count += 1
      readyOctets -= message.octets
      inFlightOctets += message.octets
      if let other = inFlight.updateValue(message, forKey: message.id) { inFlightOctets -= other.octets }
    }
    defer { ready.removeFirst(count) }
    return Array(ready[..<count])
  }

  /// The stream has not taken them: they are next again.
  mutating func requeue(_ messages: [OutboxMessage]) {
    for message in messages { _ = remove(message.id) }
    ready = messages + ready
    readyOctets += Self.octets(messages)
  }

  /// The server has a message; it, where it was in flight.
  @discardableResult
  mutating func remove(_ id: String) -> OutboxMessage? {
    guard let message = inFlight.removeValue(forKey: id) else { return nil }
    inFlightOctets -= message.octets
    return message
  }

  private static func octets(_ messages: [OutboxMessage]) -> Int { messages.reduce(0) { $0 + $1.octets } }
}
