import XMPPStanza
import XMPPXML

/// A message that is forwarded in another stanza (XEP-0297).
struct Forwarded: Sendable, Equatable {
  var message: Message
  var delay: Delay?

  /// Returns nil if `wrapper` contains no forwarded message.
  init?(in wrapper: XMLElement) {
    guard let forwarded = wrapper.first("forwarded", Namespaces.forward),
      let message = forwarded.first("message", Namespaces.client).flatMap(Message.init)
    else { return nil }
    self.message = message
    delay = forwarded.first("delay", Namespaces.delay).flatMap(Delay.init)
  }
}
