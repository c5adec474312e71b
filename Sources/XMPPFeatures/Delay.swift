import FoundationEssentials
import XMPPStanza
import XMPPXML

/// When a message was sent that arrives later (XEP-0203).
public struct Delay: Sendable, Equatable {
  public var stamp: Date
  /// Who says so; nil where nobody does.
  public var from: JID?

  public init(stamp: Date, from: JID? = nil) {
    self.stamp = stamp
    self.from = from
  }

  /// Nil for another element, and for what is no time of XEP-0082.
  public init?(_ element: XMLElement) {
    guard element.name == XMLName("delay", Namespaces.delay),
      let stamp = element["stamp"].flatMap(DateTime.date)
    else { return nil }
    self.init(stamp: stamp, from: element["from"].flatMap { try? JID($0) })
  }

  /// The first that is in a message; nil where there is none.
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
