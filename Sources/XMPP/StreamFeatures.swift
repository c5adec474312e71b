import XMPPStanza
import XMPPXML

/// The features that a server offers at one point of the negotiation: `<stream:features/>` (RFC 6120 §4.3.2).
public struct StreamFeatures: Sendable, Equatable {
  public let element: XMLElement

  public init(_ element: XMLElement) { self.element = element }

  public func offers(_ local: String, _ namespace: String) -> Bool {
    element.first(local, namespace) != nil
  }

  /// Whether STARTTLS is offered (RFC 6120 §5.4.1).
  public var startTLS: Bool { offers("starttls", Namespaces.tls) }

  /// Whether resource binding is offered (RFC 6120 §7.4).
  public var bind: Bool { offers("bind", Namespaces.bind) }

  /// Whether stream management is offered (XEP-0198 §3).
  public var streamManagement: Bool { offers("sm", Namespaces.streamManagement) }

  /// Whether the session request of RFC 3921 §3 is offered and not marked as optional.
  public var requiresSession: Bool {
    guard let session = element.first("session", Namespaces.session) else { return false }
    return session.first("optional") == nil
  }
}
