import XMPPStanza
import XMPPXML

/// A push service that the server tells of what comes while no device is there (XEP-0357).
public enum PushNotifications {
  public static let namespace = "urn:xmpp:push:0"

  /// Whether the server does so, by what the own account says it can do (§4).
  public static func isOffered(in account: ServiceDiscovery) -> Bool {
    account.features.contains(namespace)
  }

  /// The request to tell a node of a service (§5). Made once more with the same node it takes the place of the first.
  ///
  /// - Parameter secret: what the service wants to see with each notification.
  public static func enable(_ service: JID, node: String, secret: String? = nil) -> IQ {
    let options = secret.map { PubSub.form(PubSub.publishOptions, ["secret": $0]) }
    return request("enable", service, node, options.map { [$0] } ?? [])
  }

  /// The request to tell a node no more, or none of the service's (§6).
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
