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
  /// The strongest mechanism that was offered.
  public var mechanism: String
  /// How often in a row a login that went ahead of the server failed: once may be a passing fault, an error that the
  /// server sent counts twice.
  public var objections = 0

  /// - Parameters:
  ///   - offered: the mechanisms the server has offered inside TLS.
  ///   - before: what was known before this login.
  init(_ bound: BoundStream, offered: [SASLMechanismName], before: KnownServer?) {
    host = bound.target.host
    port = bound.target.port
    tls = bound.target.tls.rawValue
    mechanism = (SASLMechanismChoice.supported.first(where: offered.contains) ?? bound.mechanism).rawValue
    objections = before?.objections ?? 0
  }

  /// The server does not like to be answered before it asked.
  var isStepByStep: Bool { objections > 1 }

  /// Where ``anticipation`` holds.
  var target: ServerTarget? {
    TLSMode(rawValue: tls).map { ServerTarget(host: host, port: port, tls: $0) }
  }

  /// How far the next login goes ahead of the server's answers.
  var anticipation: Anticipation {
    if isStepByStep { return .stepByStep }
    return Anticipation(startTLS: true, mechanism: SASLMechanismName(rawValue: mechanism), binding: true)
  }

  /// A server that had SCRAM does not get to see the password any more. Which of the SCRAM mechanisms it has may
  /// change with the way it stores passwords.
  var policy: SASLPolicy {
    SASLPolicy(pinned: SASLMechanismName(rawValue: mechanism).isSCRAM ? .scramSHA1 : nil)
  }

  /// Whether a login that went ahead may have failed because of that, and is worth a step by step one.
  ///
  /// A server that failed to prove itself is not: no second proof goes to it.
  mutating func objects(with failure: Failure) -> Bool {
    switch (failure.name, failure.stage) {
    case (.protocolError, .stream), (.protocolError, .bind), (.downgrade, .authenticate),
      (.mechanismUnavailable, .authenticate):
      objections += 2
    case (.protocolError, .authenticate) where failure.condition != nil: objections += 2
    case (.networkError, .stream), (.networkError, .authenticate), (.networkError, .bind): objections += 1
    default: return false
    }
    return true
  }
}
