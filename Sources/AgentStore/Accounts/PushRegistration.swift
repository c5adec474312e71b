import XMPPSASL

/// A node of a push service that is told of what comes while no device is there (XEP-0357), as it is stored: each new
/// session says it again, since not every server keeps it for longer.
package struct PushRegistration: Codable, Sendable, Equatable {
  /// Beyond so many no other is taken.
  package static let maximum = 8

  /// JID of the service.
  package var service: String
  package var node: String
  /// What the service wants to see with each notification.
  package var secret: Secret?

  package init(service: String, node: String, secret: Secret? = nil) {
    self.service = service
    self.node = node
    self.secret = secret
  }
}

extension Account {
  /// Takes away a node of a push service, or without one all of them; and puts another in its place.
  package mutating func changePush(_ service: String, node: String?, to registration: PushRegistration?) {
    push.removeAll { $0.service == service && (node == nil || $0.node == node) }
    if let registration { push.append(registration) }
  }
}
