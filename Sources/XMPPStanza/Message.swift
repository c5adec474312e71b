import XMPPXML

/// A message: content that an entity pushes to another (RFC 6121 §5).
public struct Message: Stanza, Equatable {
  /// The value of the attribute `type` (RFC 6121 §5.2.2).
  public struct Kind: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let normal = Kind(rawValue: "normal")
    public static let chat = Kind(rawValue: "chat")
    public static let groupchat = Kind(rawValue: "groupchat")
    public static let headline = Kind(rawValue: "headline")
    public static let error = Kind(rawValue: "error")
  }

  /// The type; `normal` if the type is missing or unknown to RFC 6121 (as §5.2.2 requires).
  public var type: Kind
  public var to: JID?
  public var from: JID?
  public var id: String?
  public var language: String?
  public var payload: [XMLElement]

  public init(
    type: Kind = .normal, to: JID? = nil, from: JID? = nil, id: String? = nil, language: String? = nil,
    body: String? = nil, payload: [XMLElement] = []
  ) {
    self.type = type
    self.to = to
    self.from = from
    self.id = id
    self.language = language
    self.payload = payload
    if let body { self.body = body }
  }

  public init?(_ element: XMLElement) {
    guard let header = StanzaHeader(element, "message") else { return nil }
    let known: [Kind] = [.chat, .groupchat, .headline, .error]
    type = known.first { $0.rawValue == header.type } ?? .normal
    to = header.to
    from = header.from
    id = header.id
    language = header.language
    payload = header.payload
  }

  public var element: XMLElement {
    element("message", type: type == .normal ? nil : type.rawValue)
  }

  public var error: StanzaError? { type == .error ? errorInPayload : nil }

  /// The body without a language; setting it replaces the bodies of all languages.
  public var body: String? {
    get { text(of: "body") }
    set { setText(of: "body", to: newValue) }
  }

  /// The bodies by language; "" if the language is unknown.
  public var bodies: [String: String] { texts(of: "body") }

  /// The subject without a language; setting it replaces the subjects of all languages.
  public var subject: String? {
    get { text(of: "subject") }
    set { setText(of: "subject", to: newValue) }
  }

  /// The opaque identifier of the conversation thread (RFC 6121 §5.2.5).
  public var thread: String? {
    get { text(of: "thread") }
    set { setText(of: "thread", to: newValue) }
  }

  /// The error answer to this message (RFC 6120 §8.3.1); nil for an error, which is never answered with an error.
  public func failure(_ error: StanzaError) -> Message? {
    guard type != .error else { return nil }
    return Message(type: .error, to: from, from: to, id: id, payload: [error.element])
  }
}
