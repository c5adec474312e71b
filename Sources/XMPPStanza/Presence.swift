import XMPPXML

/// A presence: the availability of an entity, or the management of a subscription (RFC 6121 §3 and §4).
public struct Presence: Stanza, Equatable {
  /// The value of the attribute `type` (RFC 6121 §4.7.1). Unknown values are kept.
  public struct Kind: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let unavailable = Kind(rawValue: "unavailable")
    public static let subscribe = Kind(rawValue: "subscribe")
    public static let subscribed = Kind(rawValue: "subscribed")
    public static let unsubscribe = Kind(rawValue: "unsubscribe")
    public static let unsubscribed = Kind(rawValue: "unsubscribed")
    public static let probe = Kind(rawValue: "probe")
    public static let error = Kind(rawValue: "error")
  }

  /// The availability of an available entity (RFC 6121 §4.7.2.1). Unknown values are kept.
  public struct Show: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let away = Show(rawValue: "away")
    public static let chat = Show(rawValue: "chat")
    public static let doNotDisturb = Show(rawValue: "dnd")
    public static let extendedAway = Show(rawValue: "xa")
  }

  /// Nil for an available entity.
  public var type: Kind?
  public var to: JID?
  public var from: JID?
  public var id: String?
  public var language: String?
  public var payload: [XMLElement]

  public init(
    type: Kind? = nil, to: JID? = nil, from: JID? = nil, id: String? = nil, language: String? = nil,
    show: Show? = nil, status: String? = nil, priority: Int8 = 0, payload: [XMLElement] = []
  ) {
    self.type = type
    self.to = to
    self.from = from
    self.id = id
    self.language = language
    self.payload = payload
    if let show { self.show = show }
    if let status { self.status = status }
    if priority != 0 { self.priority = priority }
  }

  public init?(_ element: XMLElement) {
    guard let header = StanzaHeader(element, "presence") else { return nil }
    type = header.type.map(Kind.init)
    to = header.to
    from = header.from
    id = header.id
    language = header.language
    payload = header.payload
  }

  public var element: XMLElement { element("presence", type: type?.rawValue) }

  public var error: StanzaError? { type == .error ? errorInPayload : nil }

  /// Nil for an entity that is simply available.
  public var show: Show? {
    get {
      guard let text = text(of: "show")?.xmlTrimmed, !text.isEmpty else { return nil }
      return Show(rawValue: text)
    }
    set { setText(of: "show", to: newValue?.rawValue) }
  }

  /// The status without a language; setting it replaces the statuses of all languages.
  public var status: String? {
    get { text(of: "status") }
    set { setText(of: "status", to: newValue) }
  }

  /// The statuses by language; "" if the language is unknown.
  public var statuses: [String: String] { texts(of: "status") }

  /// The priority from −128 to 127; 0 if it is missing or invalid (RFC 6121 §4.7.2.3).
  public var priority: Int8 {
    get { text(of: "priority").flatMap { Int8($0.xmlTrimmed) } ?? 0 }
    set { setText(of: "priority", to: newValue == 0 ? nil : String(newValue)) }
  }
}

extension String {
  /// The string without XML white space at both ends, as for data types of XML Schema.
  var xmlTrimmed: String {
    func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }
    guard let start = utf8.firstIndex(where: { !isSpace($0) }),
      let end = utf8.lastIndex(where: { !isSpace($0) })
    else { return "" }
    return String(self[start...end])
  }
}
