import AgentProtocol
import XMPPClient

// The consequences of the failures in the table for the next attempt.

extension ReconnectPolicy {
  static func cause(of failure: Failure) -> Cause {
    switch FailureTable[failure.name]?.retry {
    case .after: return .rateLimit
    case .later: return .later
    default: break
    }
    // The server may repeat a protocol error, which the link does not cause.
    guard let condition = failure.condition else { return failure.name == .protocolError ? .server : .link }
    return ["reset", "see-other-host"].contains(condition) ? .reset : .server
  }

  /// Whether a session that ended with this failure stays offline, because another party decided to end it.
  ///
  /// Any other failure may be temporary. This includes protocol errors: someone who can make a server send one invalid
  /// stanza must not be able to log its users out.
  static func ends(_ failure: Failure) -> Bool {
    guard let row = FailureTable[failure.name] else { return false }
    return row.retry == .stop || row.clears == .isLogin || row.clears == .secret
  }

  /// Whether the server reports that it no longer serves the domain (RFC 6120 §4.9.3.5). This is not a kick, and the
  /// session stays offline. A server that does not know the domain (§4.9.3.6) may know it later.
  static func isGone(_ failure: Failure) -> Bool { failure.name == .serviceGone }

  /// Whether a login without time limit continues after this failure.
  static func triesAgain(after failure: Failure) -> Bool {
    FailureTable[failure.name]?.retry.retries(automatic: true) == true
  }

  /// Whether a session that was online before continues to reconnect after this failure. This includes a network with
  /// its own certificate before its terms are accepted, and a command that currently prints no secret.
  static func comesBack(after failure: Failure) -> Bool {
    triesAgain(after: failure) || failure.name == .tlsFailure
      || (failure.name == .credentialSourceFailed && [.authenticate, .proxy].contains(failure.stage))
  }

  /// Whether a network change may help at once.
  static func mayHurry(after failure: Failure) -> Bool {
    comesBack(after: failure) && [.link, .server].contains(cause(of: failure))
  }

  /// Whether the stored credentials were refused, so that only a new secret may help.
  static func needsFreshSecret(after failure: Failure) -> Bool {
    guard let row = FailureTable[failure.name] else { return false }
    return row.retry == .freshToken || [.authFailed, .deviceChanged].contains(failure.name)
  }
}
