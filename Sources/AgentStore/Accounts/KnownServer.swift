import AgentProtocol
import XMPP
import XMPPSASL
import XMPPTransport

/// What logins have learned about an account's server. It saves round trips and prevents downgrades of the login.
package struct KnownServer: Codable, Sendable, Equatable {
  /// The host of the last login.
  package var host: String
  package var port: Int
  /// `starttls` or `direct`.
  package var tls: String
  /// The strongest mechanism with which the password was used; the server must keep offering it.
  package var mechanism: String?
  /// The server's offer at the last login.
  package var offer: AuthenticationOffer?
  /// The number of consecutive logins that failed after pipelining. One may be a passing fault; an error sent by the
  /// server counts twice.
  package var objections = 0

  /// - Parameters:
  ///   - before: what was known before this login.
  ///   - objections: the objections during this login, which then succeeded without pipelining.
  package init(_ bound: BoundStream, offer: AuthenticationOffer?, before: KnownServer?, objections: Int = 0) {
    host = bound.target.host
    port = bound.target.port
    tls = bound.target.tls.rawValue
    self.offer = offer.flatMap { $0.isReasonable ? $0 : nil }
    let used = [before?.mechanism, bound.mechanism.rawValue]
    mechanism = SASLMechanismChoice.supported.map(\.rawValue).first { used.contains($0) }
    guard let before, before.host == host, before.port == port, before.tls == tls else {
      self.objections = objections
      return
    }
    let isAhead = objections == 0 && !before.isStepByStep
    self.objections = isAhead ? 0 : min(before.objections + objections, 2)
  }

  /// Whether the server does not tolerate pipelining.
  package var isStepByStep: Bool { Self.isStepByStep(objections) }

  package static func isStepByStep(_ objections: Int) -> Bool { objections > 1 }

  /// The target for which ``pipelining`` applies.
  package var target: ServerTarget? {
    TLSMode(rawValue: tls).map { ServerTarget(host: host, port: port, tls: $0) }
  }

  /// The steps of the next login that are sent before the server's answers.
  package var pipelining: Pipelining { Pipelining(startTLS: true, offer: offer, binding: true) }

  /// Refuses a mechanism that is weaker than the strongest one used.
  package var policy: SASLPolicy { SASLPolicy(pinned: mechanism.map(SASLMechanismName.init(rawValue:))) }
}

extension KnownServer {
  /// Unreadable fields are learned again, except for the mechanism: a weaker one stays refused even if the other fields
  /// are lost.
  package init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    mechanism = try fields.decodeIfPresent(String.self, forKey: .mechanism)
    host = (try? fields.decode(String.self, forKey: .host)) ?? ""
    port = (try? fields.decode(Int.self, forKey: .port)) ?? 0
    tls = (try? fields.decode(String.self, forKey: .tls)) ?? ""
    offer = try? fields.decodeIfPresent(AuthenticationOffer.self, forKey: .offer)
    objections = (try? fields.decode(Int.self, forKey: .objections)) ?? 0
  }
}

extension AuthenticationOffer {
  /// Whether the offer is worth storing: it has no overlong names and not more entries than real servers offer.
  fileprivate var isReasonable: Bool {
    let names = mechanisms + (sasl2?.mechanisms ?? []) + (sasl2?.tokenMechanisms ?? [])
    let others = (channelBindings?.count ?? 0) + (sasl2?.bindFeatures?.count ?? 0)
    return names.count + others <= 256 && names.allSatisfy(\.isWellFormed)
  }
}
