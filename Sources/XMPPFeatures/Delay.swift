import FoundationEssentials
import XMPPStanza
import XMPPXML

/// The original time of a delayed message (XEP-0203).
public struct Delay: Sendable, Equatable {
  public var stamp: Date
  /// The entity that added the element; nil if it is missing.
  public var from: JID?

  public init(stamp: Date, from: JID? = nil) {
    self.stamp = stamp
    self.from = from
  }

  /// Returns nil for another element, and for a time that is not valid (XEP-0082).
  public init?(_ element: XMLElement) {
    guard element.name == XMLName("delay", Namespaces.delay),
      let stamp = element["stamp"].flatMap(DateTime.date)
    else { return nil }
    self.init(stamp: stamp, from: element["from"].flatMap { try? JID($0) })
  }

  /// The first delay in a message; nil if there is none.
  public init?(of message: Message) {
    guard let delay = message.payload.lazy.compactMap(Delay.init).first else { return nil }
    self = delay
  }

  public var element: XMLElement {
    XMLElement(
      "delay", namespace: Namespaces.delay,
      attributes: ["from": from?.description, "stamp": DateTime.text(stamp)])
  }
}
