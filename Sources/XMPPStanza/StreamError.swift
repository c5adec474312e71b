import XMPPXML

/// The unrecoverable error with which a peer ended the stream (RFC 6120 §4.9).
public struct StreamError: Error, Equatable, Sendable {
  /// The defined condition (RFC 6120 §4.9.3). Unknown values are kept.
  public struct Condition: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public var description: String { rawValue }

    public static let badFormat = Condition(rawValue: "bad-format")
    public static let badNamespacePrefix = Condition(rawValue: "bad-namespace-prefix")
    public static let conflict = Condition(rawValue: "conflict")
    public static let connectionTimeout = Condition(rawValue: "connection-timeout")
    public static let hostGone = Condition(rawValue: "host-gone")
    public static let hostUnknown = Condition(rawValue: "host-unknown")
    public static let improperAddressing = Condition(rawValue: "improper-addressing")
    public static let internalServerError = Condition(rawValue: "internal-server-error")
    public static let invalidFrom = Condition(rawValue: "invalid-from")
    public static let invalidNamespace = Condition(rawValue: "invalid-namespace")
    public static let invalidXML = Condition(rawValue: "invalid-xml")
    public static let notAuthorized = Condition(rawValue: "not-authorized")
    public static let notWellFormed = Condition(rawValue: "not-well-formed")
    public static let policyViolation = Condition(rawValue: "policy-violation")
    public static let remoteConnectionFailed = Condition(rawValue: "remote-connection-failed")
    public static let reset = Condition(rawValue: "reset")
    public static let resourceConstraint = Condition(rawValue: "resource-constraint")
    public static let restrictedXML = Condition(rawValue: "restricted-xml")
    public static let seeOtherHost = Condition(rawValue: "see-other-host")
    public static let systemShutdown = Condition(rawValue: "system-shutdown")
    public static let undefined = Condition(rawValue: "undefined-condition")
    public static let unsupportedEncoding = Condition(rawValue: "unsupported-encoding")
    public static let unsupportedFeature = Condition(rawValue: "unsupported-feature")
    public static let unsupportedStanzaType = Condition(rawValue: "unsupported-stanza-type")
    public static let unsupportedVersion = Condition(rawValue: "unsupported-version")
  }

  public var condition: Condition
  /// The alternative address: the host, with an optional port, in `see-other-host` (RFC 6120 §4.9.3.19).
  public var address: String?
  /// The human-readable text from the peer.
  public var text: String?
  /// The conditions of extensions (RFC 6120 §4.9.4).
  public var applicationConditions: [XMLElement]

  public init(
    _ condition: Condition, address: String? = nil, text: String? = nil,
    applicationConditions: [XMLElement] = []
  ) {
    self.condition = condition
    self.address = address
    self.text = text
    self.applicationConditions = applicationConditions
  }

  /// Parses the element `<stream:error/>`; nil for any other element.
  public init?(_ element: XMLElement) {
    guard element.name == XMLName("error", Namespaces.streams) else { return nil }
    let content = ErrorContent(element, namespace: Namespaces.streamErrors)
    condition = content.condition.map(Condition.init) ?? .undefined
    address = content.address
    text = content.text
    applicationConditions = content.others
  }

  public var element: XMLElement {
    let namespace = Namespaces.streamErrors
    var children = [XMLElement(condition.rawValue, namespace: namespace, text: address)]
    if let text { children.append(XMLElement("text", namespace: namespace, text: text)) }
    return XMLElement("error", namespace: Namespaces.streams, children: children + applicationConditions)
  }
}
