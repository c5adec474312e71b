import XMPP
import XMPPStanza
import XMPPXML

/// A bookmark of a room (XEP-0402, or XEP-0048 on older servers).
public struct Bookmark: Sendable, Equatable {
  public static let node = PrivateNode(namespace)
  static let namespace = "urn:xmpp:bookmarks:1"
  static let pinning = "urn:xmpp:bookmarks-pinning:0"
  /// The name of the element, node or private storage with all bookmarks (XEP-0048 §3, XEP-0049).
  static let storage = "storage:bookmarks"

  /// The bare JID of the room.
  public var jid: JID
  public var name: String?
  public var nick: String?
  /// Whether to join the room at login.
  public var joins = false
  public var password: String?
  /// Whether the room is pinned before others (XEP-0469).
  public var isPinned = false
  /// The notification setting (XEP-0492); nil if there is none.
  public var notification: NotificationSetting?

  /// Parses an item of the node. Returns nil if it is not a bookmark, or if its id is not a bare JID.
  public init?(_ item: PubSub.Item) {
    guard let jid = try? JID(item.id), jid.isBare, let conference = item.payload,
      conference.name == XMLName("conference", Self.namespace)
    else { return nil }
    self.jid = jid
    read(conference)
    password = conference.first("password")?.text
    let extensions = conference.first("extensions")
    isPinned = extensions?.first("pinned", Self.pinning) != nil
    notification = extensions?.first("notify", NotificationSetting.namespace).flatMap(
      NotificationSetting.init)
  }

  private init?(old conference: XMLElement) {
    guard conference.name == XMLName("conference", Self.storage),
      let jid = conference["jid"].flatMap({ try? JID($0) }), jid.isBare
    else { return nil }
    self.jid = jid
    read(conference)
    password = conference.first("password")?.text
  }

  private mutating func read(_ conference: XMLElement) {
    name = conference["name"]
    nick = conference.first("nick")?.text
    joins = ["true", "1"].contains(conference["autojoin"])
  }

  /// The payload with these settings. All other content of the bookmark remains (§3.4).
  public static func payload(
    _ conference: XMLElement, isPinned: Bool?, notification: NotificationSetting??
  ) -> XMLElement {
    var conference = conference
    var extensions =
      conference.first("extensions") ?? XMLElement("extensions", namespace: namespace)
    if let isPinned {
      extensions.replace(
        XMLName("pinned", pinning), with: isPinned ? XMLElement("pinned", namespace: pinning) : nil)
    }
    if let notification {
      let name = XMLName("notify", NotificationSetting.namespace)
      let old = extensions.first(name.local, name.namespace)
      extensions.replace(name, with: NotificationSetting.element(notification, in: old))
    }
    conference.replace(extensions.name, with: extensions.elements.isEmpty ? nil : extensions)
    return conference
  }

  // MARK: The old kinds

  /// The request for the bookmarks in private storage (XEP-0049 §3).
  public static func privateStorageRequest() -> IQ {
    IQ(
      type: .get,
      payload: [
        XMLElement(
          "query", namespace: "jabber:iq:private",
          children: [XMLElement("storage", namespace: storage)])
      ])
  }

  /// The bookmarks in an answer from private storage.
  public static func privateStorage(_ answer: IQ) -> [Bookmark] {
    guard answer.type == .result else { return [] }
    return old(answer.first("query", "jabber:iq:private")?.first("storage", storage))
  }

  /// The node with all bookmarks in one item (XEP-0048 §3.1).
  public static let oldNode = PrivateNode(storage)

  /// The bookmarks in an item of ``oldNode``.
  public static func old(_ storage: XMLElement?) -> [Bookmark] {
    guard let storage, storage.name == XMLName("storage", Self.storage) else { return [] }
    return Array(storage.elements.lazy.compactMap(Bookmark.init(old:)).prefix(PubSub.maximumItems))
  }
}

/// The notification setting of a conversation (XEP-0492).
public enum NotificationSetting: String, Sendable, CaseIterable {
  case always
  case onMention = "on-mention"
  case never

  public static let namespace = "urn:xmpp:notification-settings:1"
  private static let category = "client"
  private static let type = "console"

  /// The setting for a client of the type `console`; nil if there is none (§3).
  public init?(_ notify: XMLElement) {
    let settings = notify.elements.filter { $0.name.namespace == Self.namespace }
    func setting(_ category: String?, _ type: String?) -> Self? {
      settings.lazy.filter { $0["identity-category"] == category && $0["identity-type"] == type }
        .compactMap { Self(rawValue: $0.name.local) }.first
    }
    guard let found = setting(Self.category, Self.type) ?? setting(Self.category, nil) ?? setting(nil, nil)
    else { return nil }
    self = found
  }

  /// The element with this setting for all clients; nil if it would be empty. Settings for other kinds of clients, and
  /// `advanced` settings, remain (§3).
  public static func element(_ setting: Self?, in old: XMLElement?) -> XMLElement? {
    var notify = old ?? XMLElement("notify", namespace: namespace)
    var advanced: [XMLElement] = []
    notify.children.removeAll { node in
      guard case .element(let child) = node, child.name.namespace == namespace,
        Self(rawValue: child.name.local) != nil, isOurs(child)
      else { return false }
      advanced += child.elements.filter { $0.name == XMLName("advanced", namespace) }
      return true
    }
    // There may be only one `advanced` element.
    let kept = advanced.first.map { [$0] } ?? []
    guard let name = setting ?? (kept.isEmpty ? nil : .always) else {
      return notify.elements.isEmpty ? nil : notify
    }
    // A setting for the category `client` takes precedence over the one for all clients.
    if notify.elements.contains(where: { $0["identity-category"] == category && $0["identity-type"] == nil })
    {
      notify.children.append(
        .element(
          XMLElement(
            name.rawValue, namespace: namespace,
            attributes: ["identity-category": category, "identity-type": type])))
    }
    notify.children.append(.element(XMLElement(name.rawValue, namespace: namespace, children: kept)))
    return notify
  }

  /// Whether the element applies to console clients, or to all clients.
  private static func isOurs(_ child: XMLElement) -> Bool {
    switch (child["identity-category"], child["identity-type"]) {
    case (nil, nil), (category, type): true
    default: false
    }
  }
}

extension XMLElement {
  /// Replaces the first child of this name, or adds it; nil removes all children of this name.
  mutating func replace(_ name: XMLName, with child: XMLElement?) {
    let index = children.firstIndex { if case .element(let old) = $0 { old.name == name } else { false } }
    children.removeAll { if case .element(let old) = $0 { old.name == name } else { false } }
    guard let child else { return }
    children.insert(.element(child), at: min(index ?? children.count, children.count))
  }
}
