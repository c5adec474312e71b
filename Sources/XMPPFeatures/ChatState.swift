import XMPPStanza
import XMPPXML

/// A chat state of a conversation's participant (XEP-0085).
public enum ChatState: String, Sendable, CaseIterable {
  /// The user looks at the conversation.
  case active
  /// The user is writing a message.
  case composing
  /// The user has paused writing.
  case paused
  /// The user has not looked at the conversation for a while.
  case inactive
  /// The user has left the conversation.
  case gone

  public static let namespace = "http://jabber.org/protocol/chatstates"

  public var element: XMLElement { XMLElement(rawValue, namespace: Self.namespace) }

  /// A message with only the chat state (XEP-0085 §4.2), which servers do not store (XEP-0334).
  public func message(to recipient: JID) -> Message {
    var message = Message(type: .chat, to: recipient, id: nil, body: nil)
    message.payload += [element, MessageHints.noStore]
    return message
  }

  /// The chat state in a message; nil if there is none. Errors have none, since they repeat the sent message.
  public init?(of message: Message) {
    guard message.type != .error else { return nil }
    let told = message.payload.lazy.filter { $0.name.namespace == Self.namespace }
    guard let state = told.compactMap({ Self(rawValue: $0.name.local) }).first else { return nil }
    self = state
  }
}
