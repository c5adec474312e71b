import XMPPXML

/// The reason why a stanza was refused (RFC 6120 §8.3).
public struct StanzaError: Error, Equatable, Sendable {
  /// The suggested reaction of the sender (RFC 6120 §8.3.2). Unknown values are kept.
  public struct Kind: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Retry after providing credentials.
    public static let auth = Kind(rawValue: "auth")
    /// Do not retry.
    public static let cancel = Kind(rawValue: "cancel")
    /// The condition was only a warning.
    public static let proceed = Kind(rawValue: "continue")
    /// Retry after changing the data sent.
    public static let modify = Kind(rawValue: "modify")
    /// Retry after waiting.
    public static let wait = Kind(rawValue: "wait")
  }

  /// The defined condition (RFC 6120 §8.3.3). Unknown values are kept.
  public struct Condition: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public var description: String { rawValue }

    public static let badRequest = Condition(rawValue: "bad-request")
    public static let conflict = Condition(rawValue: "conflict")
    public static let featureNotImplemented = Condition(rawValue: "feature-not-implemented")
    public static let forbidden = Condition(rawValue: "forbidden")
    public static let gone = Condition(rawValue: "gone")
    public static let internalServerError = Condition(rawValue: "internal-server-error")
    public static let itemNotFound = Condition(rawValue: "item-not-found")
    public static let jidMalformed = Condition(rawValue: "jid-malformed")
    public static let notAcceptable = Condition(rawValue: "not-acceptable")
    public static let notAllowed = Condition(rawValue: "not-allowed")
    public static let notAuthorized = Condition(rawValue: "not-authorized")
    public static let policyViolation = Condition(rawValue: "policy-violation")
    public static let recipientUnavailable = Condition(rawValue: "recipient-unavailable")
    public static let redirect = Condition(rawValue: "redirect")
    public static let registrationRequired = Condition(rawValue: "registration-required")
    public static let remoteServerNotFound = Condition(rawValue: "remote-server-not-found")
    public static let remoteServerTimeout = Condition(rawValue: "remote-server-timeout")
    public static let resourceConstraint = Condition(rawValue: "resource-constraint")
    public static let serviceUnavailable = Condition(rawValue: "service-unavailable")
    public static let subscriptionRequired = Condition(rawValue: "subscription-required")
    public static let undefined = Condition(rawValue: "undefined-condition")
    public static let unexpectedRequest = Condition(rawValue: "unexpected-request")

    /// The type that RFC 6120 §8.3.3 associates with the condition.
    public var usualType: Kind {
      switch self {
      case .forbidden, .notAuthorized, .registrationRequired, .subscriptionRequired: .auth
      case .badRequest, .jidMalformed, .notAcceptable, .policyViolation, .redirect: .modify
      case .recipientUnavailable, .remoteServerTimeout, .resourceConstraint, .unexpectedRequest: .wait
      default: .cancel
      }
    }
  }

  public var type: Kind
  public var condition: Condition
  /// The alternative address: the URI in `gone` or `redirect`.
  public var address: String?
  /// The human-readable text from the peer.
  public var text: String?
  /// The entity that detected the error.
  public var by: JID?
  /// The conditions of extensions (RFC 6120 §8.3.4).
  public var applicationConditions: [XMLElement]

  /// Creates an error; without a type, it has the one that RFC 6120 associates with the condition.
  public init(
    _ condition: Condition, type: Kind? = nil, address: String? = nil, text: String? = nil, by: JID? = nil,
    applicationConditions: [XMLElement] = []
  ) {
    self.condition = condition
    self.type = type ?? condition.usualType
    self.address = address
    self.text = text
    self.by = by
    self.applicationConditions = applicationConditions
  }

  /// Parses the element `<error/>`; nil for any other element. A missing condition becomes `undefined-condition`.
  public init?(_ element: XMLElement) {
    guard element.name == XMLName("error", Namespaces.client) else { return nil }
    let content = ErrorContent(element, namespace: Namespaces.stanzaErrors)
    condition = content.condition.map(Condition.init) ?? .undefined
    type = element["type"].map(Kind.init) ?? condition.usualType
    address = content.address
    text = content.text
    by = element["by"].flatMap { try? JID($0) }
    applicationConditions = content.others
  }

  public var element: XMLElement {
    let namespace = Namespaces.stanzaErrors
    var children = [XMLElement(condition.rawValue, namespace: namespace, text: address)]
    if let text { children.append(XMLElement("text", namespace: namespace, text: text)) }
    return XMLElement(
      "error", namespace: Namespaces.client,
      attributes: ["type": type.rawValue, "by": by?.description],
      children: children + applicationConditions)
  }
}

/// The common content of stanza errors and stream errors: a condition, a text, and elements of extensions.
struct ErrorContent {
  var condition: String?
  var address: String?
  var text: String?
  var others: [XMLElement] = []

  init(_ element: XMLElement, namespace: String) {
    for child in element.elements {
      switch child.name {
      case XMLName("text", namespace): text = text ?? child.text
      case let name where name.namespace == namespace && condition == nil:
        condition = name.local
        let content = child.text
        if !content.isEmpty { address = content }
      default: others.append(child)
      }
    }
  }
}
