import FoundationEssentials
import XMPP
import XMPPStanza
import XMPPXML

/// The time at an entity (XEP-0202).
public struct EntityTime: Sendable, Equatable {
  public var utc: Date
  /// The offset of its time zone from UTC in seconds.
  public var offset: Int

  static let name = XMLName("time", Namespaces.time)

  public init(utc: Date, offset: Int) {
    self.utc = utc
    self.offset = offset
  }

  public static func request(_ entity: JID) -> IQ {
    IQ(type: .get, to: entity, payload: [XMLElement(name.local, namespace: name.namespace)])
  }

  /// Returns nil if the answer has no time. An invalid time zone counts as UTC.
  public init?(_ answer: IQ) {
    guard answer.type == .result, let time = answer.first(Self.name.local, Self.name.namespace),
      let utc = time.first("utc").flatMap({ DateTime.date($0.text) })
    else { return nil }
    self.utc = utc
    offset = time.first("tzo").flatMap { DateTime.offset($0.text) } ?? 0
  }

  public var element: XMLElement {
    let zone = offset == 0 ? "+00:00" : DateTime.zone(offset)
    return XMLElement(
      Self.name.local, namespace: Self.name.namespace,
      children: [
        XMLElement("tzo", namespace: Self.name.namespace, text: zone),
        XMLElement("utc", namespace: Self.name.namespace, text: DateTime.text(utc)),
      ])
  }

  /// Answers every request with the time from `now`.
  public static func responder(
    _ now: @escaping @Sendable () -> EntityTime
  ) -> (XMLName, StreamConfiguration.Responder) {
    (
      name,
      { question in
        guard question.type == .get else { return nil }
        return IQ(type: .result, to: question.from, id: question.id, payload: [now().element])
      }
    )
  }
}
