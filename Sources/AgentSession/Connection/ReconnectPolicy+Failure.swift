import AgentProtocol
import XMPPClient

// What a failure of the table means for the next attempt.

extension ReconnectPolicy {
  static func cause(of failure: Failure) -> Cause {
    switch FailureTable[failure.name]?.retry {
    case .after: return .rateLimit
    case .later: return .later
    default: break
    }
    // What the server sends wrong it may send again: it is not the link's doing.
    guard let condition = failure.condition else { return failure.name == .protocolError ? .server : .link }
    return ["reset", "see-other-host"].contains(condition) ? .reset : .server
  }

  /// A running session that ended so is not taken back: someone else decided that it is over.
  ///
  /// Anything else may be a passing fault, also what the peer sent wrong: who can make a server send one bad stanza
  /// must not be able to log its users out.
  static func ends(_ failure: Failure) -> Bool {
    guard let row = FailureTable[failure.name] else { return false }
    return row.retry == .stop || row.clears == .isLogin || row.clears == .secret
  }

  /// The server itself says that it does not serve the domain any more (RFC 6120 §4.9.3.5): nobody has thrown the session
  /// out, and it does not come back. A server that does not know the domain (§4.9.3.6) may know it again.
  static func isGone(_ failure: Failure) -> Bool { failure.name == .serviceGone }

  /// A login whose user waits for as long as it takes goes on after this.
  static func triesAgain(after failure: Failure) -> Bool {
    FailureTable[failure.name]?.retry.retries(automatic: true) == true
  }

  /// A session that was online before goes on trying after this: also where a network shows a certificate of its own
  /// until its terms are accepted, and where a command has no secret to give just now.
  static func comesBack(after failure: Failure) -> Bool {
    triesAgain(after: failure) || failure.name == .tlsFailure
      || (failure.name == .credentialSourceFailed && [.authenticate, .proxy].contains(failure.stage))
  }

  /// A changed network may help at once.
  static func mayHurry(after failure: Failure) -> Bool {
    comesBack(after: failure) && [.link, .server].contains(cause(of: failure))
  }

  /// What was stored to log in with is refused: a fresh secret may help, another attempt does not.
  static func needsFreshSecret(after failure: Failure) -> Bool {
    guard let row = FailureTable[failure.name] else { return false }
    return row.retry == .freshToken || [.authFailed, .deviceChanged].contains(failure.name)
  }
}
