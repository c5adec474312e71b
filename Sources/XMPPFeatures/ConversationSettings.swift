import FoundationEssentials
import XMPPStanza
import XMPPXML

/// What belongs to a conversation and to no message of it, as the devices of an account share it: of this project.
///
///     <conversation xmlns='urn:imctl:conversations:0' device='d1'>
///       <pinned/><mark>work</mark><hidden before='2026-11-21T20:00:00.000Z'/>
///       <notify xmlns='urn:xmpp:notification-settings:1'><never/></notify>
///     </conversation>
public struct ConversationSettings: Sendable, Equatable {
  public static let node = PrivateNode(Namespaces.conversations)
  /// Marks of a conversation, and octets of each.
  public static let maximumMarks = 32
  public static let maximumMark = 256

  public var isPinned = false
  public var notification: NotificationSetting?
  /// In the order of their octets.
  public var marks: [String] = []
  /// Messages up to this time are not shown; seconds since 1970, to the millisecond.
  public var hiddenBefore: Double?
  /// It was deleted, and nothing was set since.
  public var isDeleted = false

  public init() {}

  /// The settings in a payload; what cannot be understood is as if it were not there.
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

  /// Whether a text can be a mark: one line, not empty, not too long.
  public static func isMark(_ text: String) -> Bool {
    (1...maximumMark).contains(text.utf8.count)
      && !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
  }

  /// The id of the device that has set it last; nil where it does not say.
  public static func device(in payload: XMLElement?) -> String? { StanzaID.bounded(payload?["device"]) }

  /// The payload with these settings: whatever else is in it stays.
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
        // The text has whole milliseconds, and what is behind them is cut off.
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

/// Something that a device of the account has done and of which no server tells the others: of this project.
///
///     <event xmlns='urn:imctl:events:0' kind='decline' jid='romeo@montague.example' device='d1'/>
public struct AccountEvent: Sendable, Equatable {
  public static let node = PrivateNode(Namespaces.events)
  /// Events that are kept: the oldest ones are removed.
  public static let maximumKept = 200

  public struct Kind: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    /// A request to see the account's presence was declined.
    public static let decline = Kind(rawValue: "decline")
  }

  public var kind: Kind
  public var jid: JID
  /// The id of the device that has done it.
  public var device: String?

  public init(_ kind: Kind, jid: JID, device: String?) {
    self.kind = kind
    self.jid = jid
    self.device = device
  }

  /// Nil for what is none.
  public init?(_ item: PubSub.Item) {
    guard let event = item.payload, event.name == XMLName("event", Namespaces.events),
      let kind = StanzaID.bounded(event["kind"]), let jid = event["jid"].flatMap({ try? JID($0) })
    else { return nil }
    self.init(Kind(rawValue: kind), jid: jid, device: StanzaID.bounded(event["device"]))
  }

  /// The item, under an id that comes behind those of earlier items.
  ///
  /// - Parameter time: now, in seconds since 1970.
  public func item(at time: Double) -> PubSub.Item {
    let event = XMLElement(
      "event", namespace: Namespaces.events,
      attributes: ["kind": kind.rawValue, "jid": jid.description, "device": device])
    return PubSub.Item(
      DateTime.text(Date(timeIntervalSince1970: time)) + "-" + String(IQ.makeID().prefix(8)), event)
  }

  /// Which of the items are too many: the oldest, by their ids.
  public static func excess(of items: [PubSub.Item]) -> [String] {
    Array(items.map(\.id).sorted().dropLast(maximumKept))
  }
}
