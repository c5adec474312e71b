import AgentProtocol
import XMPP
import XMPPSASL
import XMPPTransport

/// What logins have taught about an account's server: saves round trips, and lets nobody make the login weaker.
public struct KnownServer: Codable, Sendable, Equatable {
  /// Where the last login went.
  public var host: String
  public var port: Int
  /// `starttls` or `direct`.
  public var tls: String
  /// The strongest mechanism that a login has used with the password: the server has to go on offering it.
  public var mechanism: String?
  /// What it offered at the last login.
  public var offer: AuthenticationOffer?
  /// How often in a row a login that went ahead of the server failed: once may be a passing fault, an error that the
  /// server sent counts twice.
  public var objections = 0

  /// - Parameters:
  ///   - before: what was known before this login.
  ///   - objections: those of this login.
  init(_ bound: BoundStream, offer: AuthenticationOffer?, before: KnownServer?, objections: Int = 0) {
    host = bound.target.host
    port = bound.target.port
    tls = bound.target.tls.rawValue
    self.offer = offer
    let used = [before?.mechanism, bound.mechanism.rawValue]
    mechanism = SASLMechanismChoice.supported.map(\.rawValue).first { used.contains($0) }
    self.objections = min((before?.objections ?? 0) + objections, 100)
  }

  /// It does not like to be answered before it asked.
  public var isStepByStep: Bool { objections > 1 }

  /// Where ``anticipation`` holds.
  var target: ServerTarget? {
    TLSMode(rawValue: tls).map { ServerTarget(host: host, port: port, tls: $0) }
  }

  /// How far the next login goes ahead of the server's answers.
  var anticipation: Anticipation { Anticipation(startTLS: true, offer: offer, binding: true) }

  /// A weaker mechanism than the strongest one used is refused.
  var policy: SASLPolicy { SASLPolicy(pinned: mechanism.map(SASLMechanismName.init(rawValue:))) }

  /// How much speaks for it that a login failed because it went ahead: then a step by step one is worth a try.
  ///
  /// A server that failed to prove itself gets no second proof.
  static func objections(in failure: Failure) -> Int {
    switch (failure.name, failure.stage) {
    case (.protocolError, .stream), (.protocolError, .bind), (.downgrade, .authenticate),
      (.mechanismUnavailable, .authenticate):
      2
    case (.protocolError, .authenticate) where failure.condition != nil: 2
    case (.networkError, .stream), (.networkError, .authenticate), (.networkError, .bind): 1
    default: 0
    }
  }
}
