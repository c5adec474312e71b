import AgentProtocol
import XMPP
import XMPPFeatures
import XMPPSASL

extension ServerMechanismsMethod.Result {
  /// Asks the server. The account name is sent inside TLS, because some servers offer more to a known account.
  package static func of(_ stream: ServerStream) async throws(Failure) -> Self {
    try await stream.beforeLogin(names: true) { _, features throws(Failure) in
      Self(stream.account.domain, features)
    }
  }

  package init(_ domain: String, _ features: StreamFeatures) {
    let offer = features.authentication
    self.init(
      domain: domain, sasl: offer.mechanisms.map(\.description),
      fast: offer.sasl2?.tokenMechanisms.map(\.description) ?? [],
      bind2: offer.sasl2?.bindFeatures != nil,
      registration: features.offers(Registration.feature.local, Registration.feature.namespace))
    sasl2 = offer.sasl2?.mechanisms.map(\.description)
    channelBindings = offer.channelBindings?.map(\.rawValue)
  }
}
