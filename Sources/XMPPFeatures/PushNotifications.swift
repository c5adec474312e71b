import XMPPStanza
import XMPPXML

/// A push service, which the server notifies while no device is connected (XEP-0357).
public enum PushNotifications {
  public static let namespace = "urn:xmpp:push:0"

  /// Whether the own account supports push services (§4).
  public static func isOffered(in account: ServiceDiscovery) -> Bool {
    account.features.contains(namespace)
  }

  /// The request to notify a node of a service (§5). A repeated request with the same node replaces the earlier one.
  ///
  /// - Parameter secret: The secret that the service requires in each notification.
  public static func enable(_ service: JID, node: String, secret: String? = nil) -> IQ {
    let options = secret.map { PubSub.form(PubSub.publishOptions, ["secret": $0]) }
    return request("enable", service, node, options.map { [$0] } ?? [])
  }

  /// The request to stop notifying a node, or all nodes of the service (§6).
  public static func disable(_ service: JID, node: String? = nil) -> IQ {
    request("disable", service, node, [])
  }

  private static func request(
    _ name: String, _ service: JID, _ node: String?, _ children: [XMLElement]
  ) -> IQ {
    let element = XMLElement(
      name, namespace: namespace, attributes: ["jid": service.description, "node": node], children: children)
    return IQ(type: .set, payload: [element])
  }
}
