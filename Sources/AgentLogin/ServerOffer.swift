import AgentProtocol
import XMPP
import XMPPFeatures
import XMPPSASL

/// What a server offers inside TLS to whoever is not logged in, as `login --list-mechanisms --json` prints it.
package struct ServerOffer: Encodable, Sendable, Equatable {
  package var domain: String
  /// SASL (RFC 6120 §6), in the server's order.
  package var sasl: [String]
  /// The mechanisms of SASL2 (XEP-0388); null where the server does not have it.
  package var sasl2: [String]?
  /// What `-PLUS` mechanisms can bind to (XEP-0440); null where the server does not say.
  package var channelBindings: [String]?
  /// What a token of the server serves for (XEP-0484).
  package var fast: [String]
  /// A resource can be bound with the login (XEP-0386).
  package var bind2: Bool
  /// Anybody may make an account (XEP-0077).
  package var registration: Bool

  /// Asks the server. A name before the `@` is told inside TLS: some servers offer more then.
  package static func of(_ stream: ServerStream) async throws(Failure) -> ServerOffer {
    try await stream.beforeLogin(names: true) { _, features throws(Failure) in
      ServerOffer(stream.account.domain, features)
    }
  }

  package init(_ domain: String, _ features: StreamFeatures) {
    let offer = features.authentication
    self.domain = domain
    sasl = offer.mechanisms.map(\.description)
    sasl2 = offer.sasl2?.mechanisms.map(\.description)
    channelBindings = offer.channelBindings?.map(\.rawValue)
    fast = offer.sasl2?.tokenMechanisms.map(\.description) ?? []
    bind2 = offer.sasl2?.bindFeatures != nil
    registration = features.offers(Registration.feature.local, Registration.feature.namespace)
  }

  private enum CodingKeys: CodingKey {
    case domain, sasl, sasl2, channelBindings, fast, bind2, registration
  }

  /// Every key, null where there is no value.
  package func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: CodingKeys.self)
    try fields.encode(domain, forKey: .domain)
    try fields.encode(sasl, forKey: .sasl)
    try fields.encode(sasl2, forKey: .sasl2)
    try fields.encode(channelBindings, forKey: .channelBindings)
    try fields.encode(fast, forKey: .fast)
    try fields.encode(bind2, forKey: .bind2)
    try fields.encode(registration, forKey: .registration)
  }
}
