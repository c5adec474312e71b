import AgentProtocol
import FoundationEssentials
import Glibc
import XMPP
import XMPPFeatures
import XMPPStanza
import XMPPXML

/// What a session says of itself to those who may know that it is there.
enum ClientIdentity {
  /// Every feature that others may count on is listed here, or they do not use it.
  static let discovery = ServiceDiscovery(
    identities: [.init(category: "client", type: "console", name: "imctl")],
    features: [
      Namespaces.discoInfo, Namespaces.discoItems, Namespaces.capabilities, Namespaces.version,
      Namespaces.time, Namespaces.ping, Receipts.namespace, ChatState.namespace, Correction.namespace,
      Retraction.namespace, DeviceRecord.node.notification, Bookmark.node.notification,
      DisplayedMarker.node.notification, ConversationSettings.node.notification,
      AccountEvent.node.notification,
    ])

  /// What goes with every presence (XEP-0115).
  static let capabilities = EntityCapabilities(node: "urn:imctl:client", of: discovery)

  /// Not what machine it runs on: that is nobody's business.
  private static let version = SoftwareVersion(name: "imctl", version: Version.current)

  /// Answers to the questions of those whom may know that the session is there.
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
