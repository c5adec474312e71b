import XMPP

/// The reaction to a failed attempt to connect, or to the end of a session.
public enum ConnectionVerdict: Sendable, Equatable {
  /// Retry at once, because the next attempt presents other credentials.
  case atOnce
  /// Retry after a pause that grows with each failure (``ReconnectPolicy``).
  case afterPause(ReconnectPolicy.Cause, PauseTerms = PauseTerms())
  /// Retry after this number of seconds.
  case after(seconds: Double)
  /// Stay offline until the program connects the client again.
  case never

  /// The default reaction.
  ///
  /// A refused password or certificate, a domain without a service, and a session that another client has replaced are
  /// final. After every other failure the client reconnects: a peer that makes the server send a single bad stanza must
  /// not be able to log the user out.
  ///
  /// - Parameter wasOnline: whether a session of this client was online before. A certificate that is rejected later
  ///   may belong to a captive portal.
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

/// The program's terms for a pause whose length ``ReconnectPolicy`` decides.
public struct PauseTerms: Sendable, Equatable {
  /// The minimum length in seconds.
  public var atLeast = 0.0
  public var atMost = Double.infinity
  /// The number of accounts at the same server, whose attempts are spread over time.
  public var accounts = 1
  /// Whether a change of the network may end the pause.
  public var mayHurry = true

  public init() {}
}

extension XMPPError {
  /// Whether the server has ended the stream, which is known where it has sent a condition; otherwise the link broke.
  fileprivate var pauseCause: ReconnectPolicy.Cause {
    // The server may send the same protocol error again.
    guard let condition else { return code == .protocolError ? .server : .link }
    return ["reset", "see-other-host"].contains(condition) ? .reset : .server
  }
}
