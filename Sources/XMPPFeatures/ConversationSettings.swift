import FoundationEssentials
import XMPPStanza
import XMPPXML

/// The settings of a conversation, which the devices of an account share. This project's own format.
///
///     <conversation xmlns='urn:imctl:conversations:0' device='d1'>
///       <pinned/><mark>work</mark><hidden before='2026-11-21T20:00:00.000Z'/>
///       <notify xmlns='urn:xmpp:notification-settings:1'><never/></notify>
///     </conversation>
public struct ConversationSettings: Sendable, Equatable {
  public static let node = PrivateNode(Namespaces.conversations)
  /// The maximum number of marks, and the maximum length of each in octets.
  public static let maximumMarks = 32
  public static let maximumMark = 256

  public var isPinned = false
  public var notification: NotificationSetting?
  /// Sorted by octets.
  public var marks: [String] = []
  /// The time up to which messages are hidden, in seconds since 1970, to the millisecond.
  public var hiddenBefore: Double?
  /// Whether the conversation was deleted, and nothing was set since.
  public var isDeleted = false

  public init() {}

  /// The settings in a payload; invalid parts are ignored.
  public init(_ payload: XMLElement?) {
    guard let payload, payload.name == XMLName("conversation", Namespaces.conversations) else { return }
    isPinned = payload.first("pinned") != nil
    isDeleted = payload.first("deleted") != nil
    notification = payload.first("notify", NotificationSetting.namespace).flatMap(NotificationSetting.init)
    let hidden = payload.first("hidden")?["before"].flatMap(DateTime.date)?.timeIntervalSince1970
    hiddenBefore = hidden.map { ($0 * 1000).rounded() / 1000 }
    let marks = payload.elements.lazy.filter { $0.name == XMLName("mark", Namespaces.conversations) }
      .map(\.text).filter(Self.isMark)
    self.marks = Set(marks.prefix(Self.maximumMarks)).sorted()
  }

  /// Whether a text is a valid mark: a single line that is neither empty nor too long.
  public static func isMark(_ text: String) -> Bool {
    (1...maximumMark).contains(text.utf8.count)
      && !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
  }

  /// The id of the device that made the last change; nil if it is missing.
  public static func device(in payload: XMLElement?) -> String? { StanzaID.bounded(payload?["device"]) }

  /// The payload with these settings. All other content of the payload remains.
  public func payload(_ old: XMLElement?, device: String?) -> XMLElement {
    let namespace = Namespaces.conversations
    var payload = XMLElement("conversation", namespace: namespace)
    if let old, old.name == payload.name { payload = old }
    payload["device"] = device
    func flag(_ name: String, _ isSet: Bool) {
      payload.replace(
        XMLName(name, namespace), with: isSet ? XMLElement(name, namespace: namespace) : nil)
    }
    flag("pinned", isPinned)
    flag("deleted", isDeleted)
    payload.replace(XMLName("mark", namespace), with: nil)
    payload.children += marks.map { .element(XMLElement("mark", namespace: namespace, text: $0)) }
    let hidden = hiddenBefore.map { seconds in
      XMLElement(
        "hidden", namespace: namespace,
        // The text has whole milliseconds and is not rounded but truncated.
        attributes: ["before": DateTime.text(Date(timeIntervalSince1970: seconds + 0.0005))])
    }
    payload.replace(XMLName("hidden", namespace), with: hidden)
    let notify = XMLName("notify", NotificationSetting.namespace)
    payload.replace(
      notify,
      with: NotificationSetting.element(
        notification, in: payload.first(notify.local, notify.namespace)))
    return payload
  }
}

/// An action of one of the account's devices that servers do not report to the others. This project's own format.
///
///     <event xmlns='urn:imctl:events:0' kind='decline' jid='romeo@montague.example' device='d1'/>
public struct AccountEvent: Sendable, Equatable {
  public static let node = PrivateNode(Namespaces.events)
  /// The maximum number of stored events; the oldest are removed.
  public static let maximumKept = 200

  public struct Kind: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    /// A request to see the account's presence was declined.
    public static let decline = Kind(rawValue: "decline")
  }

  public var kind: Kind
  public var jid: JID
  /// The id of the device that performed the action.
  public var device: String?

  public init(_ kind: Kind, jid: JID, device: String?) {
    self.kind = kind
    self.jid = jid
    self.device = device
  }

  /// Returns nil if the item is not an event.
  public init?(_ item: PubSub.Item) {
    guard let event = item.payload, event.name == XMLName("event", Namespaces.events),
      let kind = StanzaID.bounded(event["kind"]), let jid = event["jid"].flatMap({ try? JID($0) })
    else { return nil }
    self.init(Kind(rawValue: kind), jid: jid, device: StanzaID.bounded(event["device"]))
  }

  /// The item, with an id that is greater than those of earlier items.
  ///
  /// - Parameter time: The current time in seconds since 1970.
  public func item(at time: Double) -> PubSub.Item {
    let event = XMLElement(
      "event", namespace: Namespaces.events,
      attributes: ["kind": kind.rawValue, "jid": jid.description, "device": device])
    return PubSub.Item(
      DateTime.text(Date(timeIntervalSince1970: time)) + "-" + String(IQ.makeID().prefix(8)), event)
  }

  /// The ids of the oldest items beyond the maximum.
  public static func excess(of items: [PubSub.Item]) -> [String] {
    Array(items.map(\.id).sorted().dropLast(maximumKept))
  }
}
