import AgentProtocol
import AgentStore
import XMPPFeatures
import XMPPStanza

/// Something that is to be stored about messages, in the order in which it happened.
enum MessageItem: Sendable {
  /// A message arrived on the stream.
  case arrived(Message)
  /// A contact's presence changed. It is not stored, but published after the items before it.
  case shown(PresenceChange)
  /// All stanzas of the stream up to this number have arrived.
  case handled(UInt32)
  /// The stream ended. Messages since the last ``handled`` are resent if the stream counts stanzas.
  case ended
  /// The server acknowledged the outbox message with this ID.
  case acknowledged(String)
  /// The server acknowledged these outbox messages.
  case sent([OutboxMessage])
  /// The stream sent something, or the server acknowledged something.
  case streamChanged

  var isArrival: Bool { if case .arrived = self { true } else { false } }
  var isShown: Bool { if case .shown = self { true } else { false } }
  /// The approximate number of octets of memory that the item takes.
  var footprint: Int {
    if case .arrived(let message) = self { message.payload.reduce(0) { $0 + $1.footprint } } else { 0 }
  }
  /// Whether the item decides what happens to the messages before it.
  var isNumber: Bool {
    switch self {
    case .handled, .ended: true
    case .arrived, .shown, .acknowledged, .sent, .streamChanged: false
    }
  }
}
