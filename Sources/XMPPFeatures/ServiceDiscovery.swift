import NIOCore
import XMPP
import XMPPStanza
import XMPPXML

/// What an entity says it can do (XEP-0030 §3).
public struct ServiceDiscovery: Sendable, Equatable {
  /// Features that are kept of one answer.
  static let maximumFeatures = 1000

  public var features: Set<String>

  /// - Parameter entity: nil stands for the own account.
  public static func request(_ entity: JID? = nil) -> IQ {
    IQ(type: .get, to: entity, payload: [XMLElement("query", namespace: Namespaces.discoInfo)])
  }

  /// Nil where the answer tells no features.
  public init?(_ answer: IQ) {
    guard answer.type == .result, let query = answer.first("query", Namespaces.discoInfo) else { return nil }
    features = Set(
      query.elements.lazy.filter { $0.name == XMLName("feature", Namespaces.discoInfo) }
        .compactMap { $0["var"] }.prefix(Self.maximumFeatures))
  }

  /// Asks, and gives what was answered; nil for an error.
  public static func ask(
    _ entity: JID? = nil, on stream: XMPPStream, timeout: TimeAmount = .seconds(10)
  ) async throws(XMPPError) -> ServiceDiscovery? {
    ServiceDiscovery(try await stream.request(request(entity), timeout: timeout))
  }
}
