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
      let stamp = element["stamp"].flatMap(Self.date)
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
      attributes: ["from": from?.description, "stamp": Self.text(stamp)])
  }

  static func text(_ date: Date) -> String {
    date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
  }

  /// A time of XEP-0082 §3.2, with a fraction of a second or without one.
  static func date(_ text: String) -> Date? {
    guard text.utf8.count <= 40 else { return nil }
    return (try? Date(text, strategy: .iso8601))
      ?? (try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
  }
}
