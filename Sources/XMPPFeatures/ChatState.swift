import XMPPStanza
import XMPPXML

/// What the other side of a conversation is doing (XEP-0085).
public enum ChatState: String, Sendable, CaseIterable {
  /// Looks at the conversation.
  case active
  /// Writes a message.
  case composing
  /// Has stopped writing one.
  case paused
  /// Has not looked at it for a while.
  case inactive
  /// Has left it.
  case gone

  public static let namespace = "http://jabber.org/protocol/chatstates"

  public var element: XMLElement { XMLElement(rawValue, namespace: Self.namespace) }

  /// A message that tells nothing else (XEP-0085 §4.2), and that nobody keeps (XEP-0334).
  public func message(to recipient: JID) -> Message {
    var message = Message(type: .chat, to: recipient, id: nil, body: nil)
    message.payload += [element, MessageHints.noStore]
    return message
  }

  /// The state that a message tells; nil where it tells none. Errors tell none, and repeat what was sent.
  public init?(of message: Message) {
    guard message.type != .error else { return nil }
    let told = message.payload.lazy.filter { $0.name.namespace == Self.namespace }
    guard let state = told.compactMap({ Self(rawValue: $0.name.local) }).first else { return nil }
    self = state
  }
}
