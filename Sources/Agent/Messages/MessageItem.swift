import AgentProtocol
import AgentStore
import XMPPFeatures
import XMPPStanza

/// Something that is to be stored, in the order in which it happened.
enum MessageItem: Sendable {
  /// A message of the stream.
  case arrived(Message)
  /// What somebody shows, which is not stored, and told behind what has arrived before it.
  case shown(PresenceChange)
  /// What has arrived before this is made of the stream's stanzas up to this number.
  case handled(UInt32)
  /// What has arrived since the last ``handled`` comes again, where the stream counts.
  case ended
  /// The server has the message of the outbox with this id.
  case acknowledged(String)
  /// The server has these messages of the outbox.
  case sent([OutboxMessage])
  /// The stream has sent something, or got it acknowledged.
  case streamChanged

  var isArrival: Bool { if case .arrived = self { true } else { false } }
  var isShown: Bool { if case .shown = self { true } else { false } }
  /// Octets of memory that the server makes it take, about.
  var footprint: Int {
    if case .arrived(let message) = self { message.payload.reduce(0) { $0 + $1.footprint } } else { 0 }
  }
  /// It tells what is to become of the messages before it.
  var isNumber: Bool {
    switch self {
    case .handled, .ended: true
    case .arrived, .shown, .acknowledged, .sent, .streamChanged: false
    }
  }
}
