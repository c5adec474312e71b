/// What has come of a login, for programs that only tell a few outcomes apart.
///
/// `login --json` prints it as `result`, in the event `success` and beside an error.
public enum LoginResult: String, Codable, Sendable, CaseIterable {
  /// It goes on in the background.
  case logining
  case loginSuccess
  /// Whoever logs in was refused, or the login is not possible as it was asked for.
  case loginFailure
  /// The network, or the server, did not answer in time or as it has to.
  case netError
  /// There is no such domain, or the server does not serve it.
  case unknownDomain
  /// Nobody listens at the server's address.
  case connectionRefused
  /// The user gave up.
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
