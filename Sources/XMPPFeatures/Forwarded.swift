import XMPPStanza
import XMPPXML

/// A message inside of another stanza (XEP-0297).
struct Forwarded: Sendable, Equatable {
  var message: Message
  var delay: Delay?

  /// Nil where `wrapper` has no message forwarded in it.
  init?(in wrapper: XMLElement) {
    guard let forwarded = wrapper.first("forwarded", Namespaces.forward),
      let message = forwarded.first("message", Namespaces.client).flatMap(Message.init)
    else { return nil }
    self.message = message
    delay = forwarded.first("delay", Namespaces.delay).flatMap(Delay.init)
  }
}
