/// The result of a login, for programs that distinguish only a few outcomes.
///
/// `login --json` prints it as `result`, in the event `success` and in an error.
public enum LoginResult: String, Codable, Sendable, CaseIterable {
  /// The login continues in the background.
  case logining
  case loginSuccess
  /// The credentials were refused, or the requested login is impossible.
  case loginFailure
  /// The network or the server did not answer in time, or answered incorrectly.
  case netError
  /// The domain does not exist, or the server does not serve it.
  case unknownDomain
  /// The server's address refuses connections.
  case connectionRefused
  /// The user cancelled the login.
  case cancelled

  public init(_ failure: Failure) {
    self =
      switch failure.name {
      case .unknownDomain, .serviceGone: .unknownDomain
      case .connectionRefused: .connectionRefused
      case .cancelled: .cancelled
      case .networkError, .connectTimeout, .retriesExhausted, .proxyUnavailable, .tlsFailure, .protocolError,
        .rateLimited, .agentUnreachable:
        .netError
      default: .loginFailure
      }
  }
}
