import XMPPSASL

/// A stored node of a push service that is notified while no device is online (XEP-0357). Each new session enables it
/// again, since not every server keeps it.
package struct PushRegistration: Codable, Sendable, Equatable {
  /// The maximum number of registrations.
  package static let maximum = 8

  /// The JID of the service.
  package var service: String
  package var node: String
  /// The secret that the service requires in each notification.
  package var secret: Secret?

  package init(service: String, node: String, secret: Secret? = nil) {
    self.service = service
    self.node = node
    self.secret = secret
  }
}

extension Account {
  /// Removes a node of a push service, or without `node` all of them, and adds `registration`.
  package mutating func changePush(_ service: String, node: String?, to registration: PushRegistration?) {
    push.removeAll { $0.service == service && (node == nil || $0.node == node) }
    if let registration { push.append(registration) }
  }
}
