import XMPPXML

/// An Info/Query stanza: a request, or the answer to it (RFC 6120 §8.2.3).
public struct IQ: Stanza, Equatable {
  /// The value of the attribute `type`. RFC 6120 allows no other values.
  public enum Kind: String, Hashable, Sendable {
    case get, set, result, error
  }

  public var type: Kind
  public var to: JID?
  public var from: JID?
  /// Never nil in a received IQ.
  public var id: String?
  public var language: String?
  public var payload: [XMLElement]

  public init(
    type: Kind, to: JID? = nil, from: JID? = nil, id: String? = nil, language: String? = nil,
    payload: [XMLElement] = []
  ) {
    self.type = type
    self.to = to
    self.from = from
    self.id = id
    self.language = language
    self.payload = payload
  }

  /// Returns nil if the element is not a valid IQ. The type and the id are required (RFC 6120).
  public init?(_ element: XMLElement) {
    guard let header = StanzaHeader(element, "iq"), let id = header.id,
      let type = header.type.flatMap(Kind.init)
    else { return nil }
    self.type = type
    to = header.to
    from = header.from
    self.id = id
    language = header.language
    payload = header.payload
  }

  public var element: XMLElement { element("iq", type: type.rawValue) }

  public var error: StanzaError? { type == .error ? errorInPayload : nil }

  /// Whether this is a get or a set, which must be answered.
  public var isRequest: Bool { type == .get || type == .set }

  /// The content of the request or answer: the first child that is not an error.
  public var child: XMLElement? { payload.first { $0.name != XMLName("error", Namespaces.client) } }

  /// The answer to this request; nil if this is not a request.
  public func result(_ payload: [XMLElement] = []) -> IQ? {
    isRequest ? IQ(type: .result, to: from, from: to, id: id, payload: payload) : nil
  }

  /// The error answer to this request; nil if this is not a request.
  public func failure(_ error: StanzaError) -> IQ? {
    isRequest ? IQ(type: .error, to: from, from: to, id: id, payload: [error.element]) : nil
  }
}
