import AgentProtocol
import FoundationEssentials
import Glibc
import XMPP
import XMPPFeatures
import XMPPStanza
import XMPPXML

/// The information about this client that authorised entities may request.
enum ClientIdentity {
  /// Other clients use a feature only if it is listed here.
  static let discovery = ServiceDiscovery(
    identities: [.init(category: "client", type: "console", name: "imctl")],
    features: [
      Namespaces.discoInfo, Namespaces.discoItems, Namespaces.capabilities, Namespaces.version,
      Namespaces.time, Namespaces.ping, Receipts.namespace, ChatState.namespace, Correction.namespace,
      Retraction.namespace, DeviceRecord.node.notification, Bookmark.node.notification,
      DisplayedMarker.node.notification, ConversationSettings.node.notification,
      AccountEvent.node.notification,
    ])

  /// The entity capabilities in every presence (XEP-0115).
  static let capabilities = EntityCapabilities(node: "urn:imctl:client", of: discovery)

  /// Without the operating system, for privacy.
  private static let version = SoftwareVersion(name: "imctl", version: Version.current)

  /// The responders that answer requests from authorised senders.
  static func responders(for authorisation: PresenceAuthorisation) -> [XMLName: StreamConfiguration.Responder]
  {
    let all = [
      discovery.responder(nodes: Set([capabilities?.discoveryNode].compactMap(\.self))),
      ServiceItem.responder, version.responder, EntityTime.responder(now), Ping.responder,
    ]
    var responders: [XMLName: StreamConfiguration.Responder] = [:]
    for (name, respond) in all {
      responders[name] = { question in authorisation.admits(question.from) ? respond(question) : nil }
    }
    return responders
  }

  @Sendable private static func now() -> EntityTime {
    let now = Date()
    var seconds = time_t(now.timeIntervalSince1970)
    var local = tm()
    localtime_r(&seconds, &local)
    return EntityTime(utc: now, offset: local.tm_gmtoff)
  }
}
