import XMPP

/// What follows when an attempt to connect has failed, or a session has ended.
public enum ConnectionVerdict: Sendable, Equatable {
  /// Another attempt is made at once, because it presents something else.
  case atOnce
  /// Another attempt is made after a pause that grows with each failure (``ReconnectPolicy``).
  case afterPause(ReconnectPolicy.Cause, PauseTerms = PauseTerms())
  /// Another attempt is made after so many seconds.
  case after(seconds: Double)
  /// The client stays offline until the program connects it again.
  case never

  /// What follows for a program that decides nothing itself.
  ///
  /// A refused password or certificate, a domain without a service, and a session that another client has replaced are
  /// final. After everything else the client comes back, since it may be a passing fault: a peer that can make the
  /// server send one bad stanza must not be able to log the user out.
  ///
  /// - Parameter wasOnline: a session of this client was online before. A certificate that is rejected then may belong to a
  ///   network that shows its own until its terms are accepted.
  public init(after error: XMPPError, wasOnline: Bool) {
    switch error.code {
    case .rateLimited: self = .afterPause(.rateLimit)
    case .tooManyDevices: self = .afterPause(.later)
    case .networkError, .connectTimeout, .connectionRefused, .unknownDomain, .proxyUnavailable,
      .internalError,
      .stanzaError, .protocolError:
      self = .afterPause(error.pauseCause)
    case .tlsFailure where wasOnline: self = .afterPause(.link)
    default: self = .never
    }
  }
}

/// What the program knows of a pause whose length ``ReconnectPolicy`` decides.
public struct PauseTerms: Sendable, Equatable {
  /// Seconds.
  public var atLeast = 0.0
  public var atMost = Double.infinity
  /// Accounts at the same server, which come back spread over time.
  public var accounts = 1
  /// A changed network may end the pause.
  public var mayHurry = true

  public init() {}
}

extension XMPPError {
  /// Who has ended the stream: the server, if it has said so; else the link.
  fileprivate var pauseCause: ReconnectPolicy.Cause {
    // What the server sends wrong it may send again.
    guard let condition else { return code == .protocolError ? .server : .link }
    return ["reset", "see-other-host"].contains(condition) ? .reset : .server
  }
}
