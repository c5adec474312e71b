import AgentStore

/// The outbox messages that the stream sends next, and those in flight: sent, and not acknowledged by the server
/// (XEP-0198).
///
/// Pure. Both lists are bounded in messages and octets; further messages stay on the disk.
struct SendWindow {
  /// The maximum number of messages in flight.
  static let maximumInFlight = 2000
  static let maximumReady = 4096
  /// The maximum octets of text in each list; one more message may begin below the limit.
  static let maximumOctets = 8 << 20

  /// Oldest first.
  private var ready: [OutboxMessage]
  private var readyOctets: Int
  private var inFlight: [String: OutboxMessage] = [:]
  private var inFlightOctets = 0

  /// - Parameter ready: the messages to send first, without a bound.
  init(ready: [OutboxMessage] = []) {
    self.ready = ready
    readyOctets = Self.octets(ready)
  }

  var hasReady: Bool { !ready.isEmpty }
  var readyIDs: Set<String> { Set(ready.map(\.id)) }
  var inFlightIDs: Set<String> { Set(inFlight.keys) }
  func isInFlight(_ id: String) -> Bool { inFlight[id] != nil }

  /// Whether more messages may be in flight.
  var hasRoom: Bool { room.messages > 0 && room.octets > 0 }
  /// The number of further messages, and octets, that may be in flight.
  var room: (messages: Int, octets: Int) {
    (Self.maximumInFlight - inFlight.count, Self.maximumOctets - inFlightOctets)
  }

  /// Whether these messages can wait here to be sent.
  func hasRoom(for messages: [OutboxMessage]) -> Bool {
    ready.count + messages.count <= Self.maximumReady && readyOctets < Self.maximumOctets
  }

  /// Adds messages that are sent after those that wait.
  mutating func append(_ messages: [OutboxMessage]) {
    ready += messages
    readyOctets += Self.octets(messages)
  }

  /// Removes the messages that can be sent now; they are in flight from here on.
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

  /// Puts back messages that the stream did not take, at the front.
  mutating func requeue(_ messages: [OutboxMessage]) {
    for message in messages { _ = remove(message.id) }
    ready = messages + ready
    readyOctets += Self.octets(messages)
  }

  /// Removes a message that the server has; returns it if it was in flight.
  @discardableResult
  mutating func remove(_ id: String) -> OutboxMessage? {
    guard let message = inFlight.removeValue(forKey: id) else { return nil }
    inFlightOctets -= message.octets
    return message
  }

  private static func octets(_ messages: [OutboxMessage]) -> Int { messages.reduce(0) { $0 + $1.octets } }
}
