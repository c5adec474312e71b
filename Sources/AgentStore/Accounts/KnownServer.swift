import AgentProtocol
import XMPP
import XMPPSASL
import XMPPTransport

/// What logins have taught about an account's server: saves round trips, and lets nobody make the login weaker.
package struct KnownServer: Codable, Sendable, Equatable {
  /// Where the last login went.
  package var host: String
  package var port: Int
  /// `starttls` or `direct`.
  package var tls: String
  /// The strongest mechanism that a login has used with the password: the server has to go on offering it.
  package var mechanism: String?
  /// What it offered at the last login.
  package var offer: AuthenticationOffer?
  /// How often in a row a login that went ahead of the server failed: once may be a passing fault, an error that the
  /// server sent counts twice.
  package var objections = 0

  /// - Parameters:
  ///   - before: what was known before this login.
  ///   - objections: those of this login, which has then succeeded step by step.
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

  /// It does not like to be answered before it asked.
  package var isStepByStep: Bool { Self.isStepByStep(objections) }

  package static func isStepByStep(_ objections: Int) -> Bool { objections > 1 }

  /// Where ``pipelining`` holds.
  package var target: ServerTarget? {
    TLSMode(rawValue: tls).map { ServerTarget(host: host, port: port, tls: $0) }
  }

  /// How far the next login goes ahead of the server's answers.
  package var pipelining: Pipelining { Pipelining(startTLS: true, offer: offer, binding: true) }

  /// A weaker mechanism than the strongest one used is refused.
  package var policy: SASLPolicy { SASLPolicy(pinned: mechanism.map(SASLMechanismName.init(rawValue:))) }
}

extension KnownServer {
  /// What cannot be read is learned anew, but for the mechanism: nothing weaker is accepted, whatever else is lost.
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
  /// Fit to be kept: its names are names, not text by the megabyte, and no more than servers have.
  fileprivate var isReasonable: Bool {
    let names = mechanisms + (sasl2?.mechanisms ?? []) + (sasl2?.tokenMechanisms ?? [])
    let others = (channelBindings?.count ?? 0) + (sasl2?.bindFeatures?.count ?? 0)
    return names.count + others <= 256 && names.allSatisfy(\.isWellFormed)
  }
}
